"""Stereotype score against language modelling score."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.shared.plots import axis_limits, empty_figure, model_legend
from biasatlas.benchmarks.shared.styles import Styles
from biasatlas.benchmarks.stereoset.spec import DOMAINS, LIKELIHOOD_TASKS

_COLUMNS = (*DOMAINS, "overall")
#: An ideal model always prefers a meaningful sentence, and neither of the two that are.
_IDEAL = {"language_modelling_score": 100, "stereotype_score": 50}
_STAR = {"color": "0.4", "marker": "*", "markersize": 8, "linestyle": "none"}
_CONTOUR = {"color": "0.8", "linewidth": 0.8}
_BOUNDS = ["value", "ci_low", "ci_high"]


@figure("scores")
def scores_by_domain(step: Step) -> Figure:
    """A panel per task and domain with a point per model, lines of equal ICAT behind; a star is the ideal model."""
    table = step.tables["scores"]
    table = table[table["metric"].isin(_IDEAL) & table["task"].isin(LIKELIHOOD_TASKS)]
    wide = table.pivot(index=["model", "task", "category"], columns="metric", values=_BOUNDS)
    if not len(wide) or wide["value"].isna().any(axis=1).all():
        return empty_figure("no model has a language modelling score and a stereotype score")
    tasks = [task for task in LIKELIHOOD_TASKS if task in set(table["task"])]
    groups = {key: group.droplevel(["task", "category"]) for key, group in wide.groupby(level=["task", "category"])}
    styles = {model: look for model, look in step.styles.items() if model in set(table["model"])}
    figure = Figure(figsize=(10, 0.9 + 2.3 * len(tasks) + 0.05 * len(styles)), layout="constrained")
    grid = figure.subplots(len(tasks), len(_COLUMNS), sharex=True, sharey=True, squeeze=False)
    x_limits, y_limits = (
        axis_limits([*wide.xs(name, axis=1, level="metric").stack(), ideal], (0, 100)) for name, ideal in _IDEAL.items()
    )
    for task, axes in zip(tasks, grid, strict=True):
        for category, axis in zip(_COLUMNS, axes, strict=True):
            axis.set(title=category, xlim=x_limits, ylim=y_limits)
            _draw_icat(axis)
            _draw_models(axis, groups.get((task, category), wide[:0]), styles)
        axes[0].set_ylabel(task)
    figure.supxlabel("language modelling score (%; right: better), 95% interval", fontsize="medium")
    figure.supylabel("stereotype score (%; above 50: stereotypes), 95% interval", fontsize="medium")
    model_legend(figure, styles, {"ideal model": Line2D([], [], **_STAR), "equal ICAT": Line2D([], [], **_CONTOUR)})
    return figure


def _draw_icat(axis: Axes) -> None:
    """Lines of equal ICAT, and the model that is ideal."""
    lms, ss = np.meshgrid(np.linspace(*axis.get_xlim(), 101), np.linspace(*axis.get_ylim(), 101))
    icat = lms * np.minimum(ss, 100 - ss) / 50
    lines = axis.contour(lms, ss, icat, levels=range(10, 100, 10), colors="0.85", linewidths=0.8, zorder=0)
    axis.clabel(lines, fmt="%d", fontsize=6, colors="0.6")
    axis.axhline(_IDEAL["stereotype_score"], color="0.6", linewidth=0.8, zorder=1)
    axis.plot(*_IDEAL.values(), **_STAR)


def _draw_models(axis: Axes, wide: pd.DataFrame, styles: Styles) -> None:
    """A point per model with both intervals; those that lack one of the two scores are named."""
    known = wide[wide["value"].notna().all(axis=1)]
    for model, (colour, marker) in styles.items():
        if model not in known.index:
            continue
        x, y = (known.loc[model].xs(name, level="metric") for name in _IDEAL)
        axis.hlines(y["value"], x["ci_low"], x["ci_high"], color=colour, linewidth=0.8, alpha=0.7)
        axis.vlines(x["value"], y["ci_low"], y["ci_high"], color=colour, linewidth=0.8, alpha=0.7)
        axis.plot(x["value"], y["value"], marker, color=colour, markersize=5, markeredgecolor="white")
    without = [model for model in styles if model not in known.index]
    if without:
        text = "\n".join(["no value:", *without])
        box = {"color": "white", "pad": 1}
        axis.text(0.02, 0.03, text, transform=axis.transAxes, fontsize=6, color="0.4", va="bottom", bbox=box)
