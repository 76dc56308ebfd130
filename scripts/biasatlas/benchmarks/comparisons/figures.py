"""Figures of comparisons."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biasatlas.benchmarks.comparisons.multiverse import AS_STATED
from biasatlas.benchmarks.shared.evidence import OVERALL
from biasatlas.benchmarks.shared.plots import dot_intervals, empty_figure, model_legend, panel_grid
from biasatlas.benchmarks.shared.styles import Style, Styles
from biasatlas.stats.verdict import STATES

#: The width of a panel, in inches.
_WIDTH = 4.2
#: The most numbers that a figure shows; the table has them all.
_ROWS = 9


def draw_pairs(table: pd.DataFrame, styles: Styles) -> Figure:
    """How far each other model lies from the first, on the same items, in smallest effects that matter.

    Only of numbers that can get a verdict: those over all categories first, then the largest; ``table`` has the rest.
    """
    testable = table["verdict"].isin(set(STATES) - {"untestable"}) & table["value"].notna()
    rows = table[(table["metric"] == "difference") & testable]
    first = next((model for model in styles if model in {*rows["model"], *rows["other_model"]}), "")
    rows = rows[(rows["model"] == first) | (rows["other_model"] == first)]
    if rows.empty:
        return empty_figure("no difference of two models can get a verdict")
    mine = rows["model"] == first
    turned = rows["smallest"].where(~mine, -rows["smallest"])
    effects = rows[["value", "ci_low", "ci_high"]].div(turned, axis=0)
    rows = rows.assign(model=rows["model"].mask(mine, rows["other_model"]), **effects).astype({"part": object})
    about = rows[["benchmark", "measure", "part", "category"]].fillna("").replace(OVERALL, "").astype(str)
    rows["about"] = (
        about.agg(" ".join, axis=1).str.split().str.join(" ").str.replace("_", " ").str.replace(" x ", " × ")
    )
    rows["rank"] = rows["value"].abs().where(rows["category"] != OVERALL, math.inf)
    shown = rows.groupby("about", sort=False)["rank"].max().nlargest(_ROWS).index
    figure = dot_intervals(
        rows[rows["about"].isin(shown)],
        "about",
        styles,
        label=f"value less that of {first}, in smallest effects that matter (band: too small)",
        reference=0,
    )
    for axis in figure.axes:
        axis.axvspan(-1, 1, color="0.9", zorder=0)
    return figure


def draw_framings(table: pd.DataFrame, styles: Styles) -> Figure:
    """A panel for each number: the standard deviation that each source adds, with interval and share of the variance.

    Over all models; for each model if the table has no row over all. Numbers over all categories come first, then those
    with the largest share of variance due to the framing; ``table`` has the rest.
    """
    keys = ["benchmark", "measure", "part", "category"]
    rows = table.astype(dict.fromkeys(["model", *keys], object)).fillna({"model": "", "part": ""})
    shares = rows[rows["metric"] == "variance_share"].set_index([*keys, "model", "source"])["value"].dropna()
    if shares.empty:
        return empty_figure("no number was asked in several framings")
    rank = shares.xs("framing", level="source").groupby(keys, sort=False).max()
    rank = rank.mask(rank.index.get_level_values("category") == OVERALL, math.inf).sort_values(ascending=False)
    spreads = dict(list(rows[rows["metric"] == "spread"].groupby(keys, sort=False)))
    # If there is only one category, it has the same values as the row over all: show one.
    shown = list({(*number[:3], *spreads[number]["value"]): number for number in rank.index}.values())[:_ROWS]
    figure, axes = panel_grid(len(shown), 3.3, 1.6, most=3)
    drawn: dict[str, Style] = {}
    for axis, number in zip(axes, shown, strict=True):
        found = spreads[number]
        found = found[found["model"] == ""] if (found["model"] == "").any() else found
        models, sources = list(found["model"].unique()), list(found["source"].unique())
        spread = (np.arange(len(models)) - (len(models) - 1) / 2) / (len(models) + 0.8)
        for model, beside in zip(models, spread, strict=True):
            mine = found[found["model"] == model]
            colour, marker = drawn[model or "all models"] = styles[model] if model else Style("0.2", "o")
            y = [sources.index(source) + beside for source in mine["source"]]
            axis.hlines(y, mine["ci_low"], mine["ci_high"], color=colour, linewidth=1.5)
            axis.plot(mine["value"], y, marker, color=colour, markersize=4.5, clip_on=False)
            for height, source in zip(y, mine["source"], strict=True):
                share = shares.get((*number, model, source))
                said = "" if share is None else f"{share:.0f}%"
                axis.text(1.02, height, said, transform=axis.get_yaxis_transform(), va="center", fontsize=8)
        benchmark, measure, part, category = (each.replace("_", " ") for each in number)
        axis.set_title(f"{benchmark}: {measure}\n{part} {category}".replace("\n ", "\n"), fontsize=9, loc="left")
        axis.set_yticks(range(len(sources)), sources)
        axis.set_ylim(len(sources) - 0.5, -0.5)
        axis.set_xlim(left=0)
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    model_legend(figure, drawn, {})
    figure.supxlabel("standard deviation between numbers, interval\nright: share of the variance", fontsize="medium")
    return figure


def draw_multiverse(universe: pd.DataFrame, neutral: Mapping[tuple[str, str], float | None], styles: Styles) -> Figure:
    """A panel for each number: all models' specifications, by value, with intervals; a ring marks the protocol's."""
    rows = universe[universe["value"].notna()]
    if rows.empty:
        return empty_figure("no number has a value")
    named = rows.astype({"part": object}).fillna({"part": ""})  # the empty part of a measure is read as missing
    panels = list(named.groupby(["benchmark", "measure", "part"], sort=False))
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
        axis.set_title(f"{benchmark}: {measure}\n{part}".strip(), fontsize=9, loc="left")
        axis.set_xticks([])
        axis.grid(axis="y", color="0.9")
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    ring = Line2D([], [], color="0.3", marker="o", markersize=8, markerfacecolor="none", linestyle="none")
    model_legend(figure, {model: styles[model] for model in drawn}, {"the protocol": ring})
    figure.supxlabel("specifications, by value", fontsize="medium")
    figure.supylabel("value in the metric's own unit, interval", fontsize="medium")
    return figure
