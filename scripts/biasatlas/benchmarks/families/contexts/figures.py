"""The figure of a benchmark of contexts."""

from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.families.contexts.spec import ContextsDescription
from biasatlas.benchmarks.shared.plots import empty_figure, model_legend

_COLUMNS, _WIDTH, _HEIGHT = 4, 2.3, 2.4
#: What a model that draws has in both, in percent.
_DRAWN = 100 / 3


@figure("plane")
def plane_figure(step: Step) -> Figure:
    """A panel per category: difference awareness across, contextual awareness up, with both intervals."""
    description: ContextsDescription = step.description
    table = step.tables["awareness"].set_index(["metric", "category", "model"])[["value", "ci_low", "ci_high"]]
    across, up = (table.loc[name] for name in ("difference_awareness", "contextual_awareness"))
    known = (across["value"].notna() & up["value"].notna()).groupby("category").any()
    panels = [name for name in (*description.category_names.values(), "overall") if known.get(name, False)]
    if not panels:
        return empty_figure("no model tells groups apart")
    columns = min(_COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    drawing = Figure(figsize=(1 + _WIDTH * columns, 1 + _HEIGHT * lines), layout="constrained")
    grid = drawing.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axis in grid[len(panels) :]:
        axis.remove()
    for axis, category in zip(grid, panels, strict=False):
        axis.axhline(_DRAWN, color="0.85", linewidth=1)
        axis.axvline(_DRAWN, color="0.85", linewidth=1)
        axis.plot(_DRAWN, _DRAWN, "x", color="0.2", markersize=5)
        for model, (colour, marker) in step.styles.items():
            if (category, model) in across.index:
                x, y = across.loc[(category, model)], up.loc[(category, model)]
                axis.hlines(y["value"], x["ci_low"], x["ci_high"], color=colour, linewidth=1)
                axis.vlines(x["value"], y["ci_low"], y["ci_high"], color=colour, linewidth=1)
                axis.plot(x["value"], y["value"], marker, color=colour, markersize=4.5)
        axis.set_title(category, fontsize=8, loc="left")
        axis.set(xlim=(-5, 105), ylim=(-5, 105))
        axis.spines[["top", "right"]].set_visible(False)
    drawing.supxlabel("difference awareness (%; right: better), 95% interval", fontsize="medium")
    drawing.supylabel("contextual awareness (%; up: better), 95% interval", fontsize="medium")
    model_legend(drawing, step.styles, {})
    return drawing
