"""Comparisons as pictures."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biasatlas.benchmarks.comparisons.multiverse import AS_STATED
from biasatlas.benchmarks.shared.evidence import OVERALL
from biasatlas.benchmarks.shared.plots import empty_figure, model_legend
from biasatlas.benchmarks.shared.styles import COLOURS, Styles

#: Inches: a row of a panel, its head, a panel's width.
_ROW, _HEAD, _WIDTH = 0.2, 0.75, 4.2
#: Pairs that a figure shows; the table has them all.
_PAIRS = 4


def draw_pairs(table: pd.DataFrame) -> Figure:
    """A panel for each metric: a row a category, a dot and interval a pair of models; filled where they differ by what matters.

    Of the first pairs; the panel of each metric has a scale of its own.
    """
    rows = table[(table["metric"] == "difference") & table["value"].notna()]
    rows = rows.assign(pair=rows["model"] + " − " + rows["other_model"])
    pairs = list(rows["pair"].unique())[:_PAIRS]
    rows = rows[rows["pair"].isin(pairs)]
    if rows.empty:
        return empty_figure("no two models answered the same items")
    panels = _panels(rows)
    columns = min(3, len(panels))
    deep = -(-len(panels) // columns)
    heights = [
        max(part["category"].nunique() for _, part in panels[line * columns : (line + 1) * columns])
        for line in range(deep)
    ]
    figure = Figure(
        # The legend has two pairs in a line.
        figsize=(
            _WIDTH * columns,
            0.6 + 0.2 * len(pairs) + sum(_ROW * (1 + 0.35 * len(pairs)) * h + _HEAD for h in heights),
        ),
        layout="constrained",
    )
    axes = figure.subplots(deep, columns, squeeze=False, height_ratios=[h + 2 for h in heights])
    for axis in axes.ravel()[len(panels) :]:
        axis.remove()
    for axis, ((benchmark, measure, part), found) in zip(axes.ravel(), panels, strict=False):
        _panel(axis, found, pairs)
        axis.set_title(_title(benchmark, measure, part), fontsize=9, loc="left")
    styles = {
        pair: Line2D([], [], color=COLOURS[place % len(COLOURS)], marker="o", markersize=4.5)
        for place, pair in enumerate(pairs)
    }
    figure.legend(styles.values(), styles.keys(), loc="outside upper center", ncols=min(2, len(styles)), frameon=False)
    figure.supxlabel("difference, in the metric's unit", fontsize="medium")
    return figure


def _panels(rows: pd.DataFrame) -> list[tuple[tuple[str, str, str], pd.DataFrame]]:
    """The rows of each benchmark, measure and part. A measure without parts has an empty cell, which a file reads as missing."""
    return list(
        rows.astype({"part": object}).fillna({"part": ""}).groupby(["benchmark", "measure", "part"], sort=False)
    )


def _title(benchmark: str, measure: str, part: str) -> str:
    return f"{benchmark}: {measure}" + (f"\n{part}" if part else "")


def _panel(axis: Axes, rows: pd.DataFrame, pairs: list[str]) -> None:
    categories = sorted(rows["category"].unique(), key=lambda name: (name == OVERALL, name))
    for place, pair in enumerate(pairs):
        part = rows[rows["pair"] == pair]
        colour = COLOURS[place % len(COLOURS)]
        offset = (place - (len(pairs) - 1) / 2) / (len(pairs) + 1)
        y = [categories.index(name) + offset for name in part["category"]]
        axis.hlines(y, part["ci_low"], part["ci_high"], color=colour, linewidth=1.5)
        for value, height, filled in zip(part["value"], y, part["verdict"] == "biased", strict=True):
            axis.plot(value, height, "o", color=colour, markersize=4.5, markerfacecolor=colour if filled else "white")
    axis.axvline(0, color="0.55", linewidth=1, zorder=1)
    axis.set_yticks(range(len(categories)), categories, fontsize=8)
    axis.set_ylim(len(categories) - 0.5, -0.5)
    axis.grid(axis="x", color="0.9")
    axis.locator_params(axis="x", nbins=5)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)


def draw_multiverse(universe: pd.DataFrame, neutral: Mapping[tuple[str, str], float | None], styles: Styles) -> Figure:
    """A panel for each number: all specifications of every model, sorted by value, with intervals; a ring marks the protocol's."""
    rows = universe[universe["value"].notna()]
    if rows.empty:
        return empty_figure("no number has a value")
    panels = _panels(rows)
    columns = min(3, len(panels))
    deep = -(-len(panels) // columns)
    drawn = [model for model in styles if model in set(rows["model"])]
    legend = 0.2 * len(drawn) / (2 * columns)
    figure = Figure(figsize=(_WIDTH * columns, 0.8 + legend + 2.1 * deep), layout="constrained")
    axes = figure.subplots(deep, columns, squeeze=False)
    for axis in axes.ravel()[len(panels) :]:
        axis.remove()
    for axis, ((benchmark, measure, part), found) in zip(axes.ravel(), panels, strict=False):
        null = neutral.get((benchmark, measure))
        if null is not None:
            axis.axhline(null, color="0.55", linewidth=1, zorder=1)
        for place, model in enumerate(drawn):
            mine = found[found["model"] == model].sort_values("value", ignore_index=True)
            mine.index = mine.index + 0.5 * place / len(drawn)  # beside each other, not over
            colour, marker = styles[model]
            axis.vlines(mine.index, mine["ci_low"], mine["ci_high"], color=colour, linewidth=1, alpha=0.6)
            axis.plot(mine.index, mine["value"], marker, color=colour, markersize=3)
            own = mine[mine["specification"].str.startswith(AS_STATED)]
            axis.plot(own.index, own["value"], "o", color=colour, markersize=8, markerfacecolor="none")
        axis.set_title(_title(benchmark, measure, part), fontsize=9, loc="left")
        axis.set_xticks([])
        axis.grid(axis="y", color="0.9")
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    ring = Line2D([], [], color="0.3", marker="o", markersize=8, markerfacecolor="none", linestyle="none")
    model_legend(figure, {model: styles[model] for model in drawn}, {"the protocol": ring})
    figure.supxlabel("specifications, by value", fontsize="medium")
    return figure
