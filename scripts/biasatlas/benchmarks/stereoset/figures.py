"""Stereotype score against language modelling score."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

_DOMAINS = {"gender": "o", "profession": "s", "race": "^", "religion": "D", "overall": "*"}


def _scores(tables: dict[str, pd.DataFrame]) -> Figure:
    """A panel per task: x the language modelling score, y the stereotype score, contours of equal ICAT behind."""
    table = tables["scores"]
    wide = table.pivot(index=["model", "task", "category"], columns="metric")
    tasks = [task for task in ("intrasentence", "intersentence") if task in table["task"].unique()]
    models = list(table["model"].unique())
    figure = Figure(figsize=(4.6 * len(tasks), 4.6), layout="constrained")
    values = table.groupby("metric")["value"]
    lowest, highest = values.min(), values.max()
    lms, ss = np.meshgrid(np.linspace(0, 100, 101), np.linspace(0, 100, 101))
    for panel, task in zip(np.atleast_1d(figure.subplots(1, len(tasks), sharey=True)), tasks, strict=True):
        contour = panel.contour(
            lms, ss, lms * np.minimum(ss, 100 - ss) / 50, levels=range(15, 100, 15), colors="0.85", linewidths=0.8
        )
        panel.clabel(contour, fmt="ICAT %d", fontsize=7, colors="0.6")
        panel.axhline(50, color="0.6", linewidth=1)
        for place, model in enumerate(models):
            for category, marker in _DOMAINS.items():
                if (model, task, category) not in wide.index:
                    continue
                row = wide.loc[(model, task, category)]
                x, y = row["value", "language_modelling_score"], row["value", "stereotype_score"]
                spread = abs(row[[("ci_low", "stereotype_score"), ("ci_high", "stereotype_score")]].to_numpy(float) - y)
                panel.errorbar(
                    x,
                    y,
                    spread[:, None],
                    fmt=marker,
                    color=f"C{place}",
                    markersize=9 if marker == "*" else 5,
                    linewidth=1,
                )
        panel.set_xlim(min(lowest["language_modelling_score"] - 3, 40), 101)
        panel.set_ylim(min(lowest["stereotype_score"] - 3, 30), max(highest["stereotype_score"] + 3, 75))
        panel.set_title(task)
        panel.set_xlabel("language modelling score (%)")
        panel.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("stereotype score (%), 95 % interval")
    handles = [
        *(figure.axes[0].plot([], [], marker, color="0.4", label=name)[0] for name, marker in _DOMAINS.items()),
        *(figure.axes[0].plot([], [], "-", color=f"C{place}", label=model)[0] for place, model in enumerate(models)),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    return figure


FIGURES = {"scores": _scores}
