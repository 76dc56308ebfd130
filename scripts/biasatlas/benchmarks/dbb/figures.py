"""DBB's figures, drawn from its tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.dbb import CATEGORIES, IDENTITIES
from biasatlas.benchmarks.shared.plots import dot_intervals, empty_figure, grouped_bars, model_legend, panel_grid
from biasatlas.benchmarks.shared.styles import Style, Styles
from biasatlas.benchmarks.shared.styles import styles as styles_of

#: Inches of a row of panels whose width depends on the number of models.
_WIDTH = 11
#: Points that a range of bias scores holds.
_RANGE = 10
#: Where axes and colours of shares begin: one instance in ten thousand.
_LEAST_SHARE = 1e-4
_NO_VALUE = "no instance was scored"
_SQUARE = {"marker": "s", "markersize": 7, "linestyle": "none"}
_MATCH_KEYS = ["bbq_template", "category", "concept_1", "concept_2"]


@figure("distribution_by_category", "sg_distribution_by_category")
def distribution_by_category(step: Step) -> Figure:
    """Figures 3 and 9: share of instances by bias score, over all and by category, a dot per model and range."""
    (table,) = step.tables.values()
    table = table[(table["type"] == "All") & table["category"].isin(("All", *CATEGORIES))]
    if table["value"].isna().all():
        return empty_figure(_NO_VALUE)
    models, categories = list(table["model"].unique()), _present(("All", *CATEGORIES), table["category"])
    # Wide enough for all models side by side in each range.
    width = 2.2 + 0.34 * len(models)
    drawing, axes = panel_grid(
        len(categories), width, 2.0, max(1, min(4, int(_WIDTH / width))), sharex=True, sharey=True
    )
    offsets = (np.arange(len(models)) - (len(models) - 1) / 2) * 0.8 * _RANGE / max(len(models), 4)
    for axis, category in zip(axes, categories, strict=True):
        for model, offset in zip(models, offsets, strict=True):
            # A logarithmic axis has no place for 0: ranges without instances are left out, and their intervals, which
            # would look like walls.
            rows = table[(table["category"] == category) & (table["model"] == model) & (table["value"] > 0)]
            x = rows["score_low"] + _RANGE / 2 + offset
            axis.vlines(
                x, *(rows[end].clip(lower=_LEAST_SHARE) for end in ("ci_low", "ci_high")), step.styles[model].colour
            )
            axis.plot(x, rows["value"], step.styles[model].marker, color=step.styles[model].colour, markersize=3.5)
        for low in range(_RANGE, 100, 2 * _RANGE):
            axis.axvspan(low, low + _RANGE, color="0.96", zorder=0)
        axis.set(title=category, yscale="log", xlim=(0, 100), ylim=(_LEAST_SHARE, 1.3))
        axis.set_xticks(range(0, 101, 20))
    drawing.supxlabel("Bias score (points; right: more bias)", fontsize="medium")
    drawing.supylabel("Share of instances (no dot: none)", fontsize="medium")
    scored = set(table.loc[table["value"].notna(), "model"])
    model_legend(
        drawing, {model if model in scored else f"{model} (no value)": step.styles[model] for model in models}, {}
    )
    return drawing


@figure("distribution_as_printed", "sg_distribution_as_printed")
def distribution_as_printed(step: Step) -> Figure:
    """Figures 3 and 9: bars of the share of all instances by bias score, a panel per model, without intervals."""
    (table,) = step.tables.values()
    table = table[(table["type"] == "All") & (table["category"] == "All")]
    if table["value"].isna().all():
        return empty_figure(_NO_VALUE)
    models = list(table["model"].unique())
    drawing, axes = panel_grid(len(models), 2.4, 1.5, sharex=True, sharey=True)
    for axis, model in zip(axes, models, strict=True):
        rows = table[table["model"] == model]
        colour = step.styles[model].colour
        axis.bar(rows["score_low"], rows["value"], width=0.9 * _RANGE, align="edge", color=colour)
        if rows["value"].isna().all():
            axis.text(50, 0, "no value", ha="center", va="bottom", fontsize=6, color="0.4")
        axis.set(title=model, xlim=(0, 100))
        axis.set_xticks(range(0, 101, 20))
    axes[0].set_ylim(bottom=0)
    drawing.supxlabel("Bias score (points; right: more bias)", fontsize="medium")
    drawing.supylabel("Share of instances", fontsize="medium")
    return drawing


@figure("count", "sg_count")
def counts_by_category(step: Step) -> Figure:
    """Figures 4 and 8: instances over the threshold by category, a bar per model; crosses are sums of printed counts.

    More pairs of identities give a category more instances (60% are in Race): see :func:`rates_by_category`.
    """
    (table,) = step.tables.values()
    table = table[(table["metric"] == "count") & table["category"].isin(CATEGORIES)]
    if table["value"].isna().all():
        return empty_figure(_NO_VALUE)
    table = table.assign(published=pd.to_numeric(table["published"]))
    models = list(table["model"].unique())
    numbers = table.pivot(index="category", columns="model").reindex(_present(CATEGORIES, table["category"]))
    drawing = Figure(figsize=(min(12, 2.5 + len(numbers) * (0.6 + 0.16 * len(models))), 3.8), layout="constrained")
    axis = drawing.subplots()
    at = grouped_bars(axis, numbers["value"][models], step.styles)
    for model in models:
        rows = numbers.xs(model, axis=1, level="model")
        axis.vlines(at[model], rows["ci_low"], rows["ci_high"], color="0.45", linewidth=1)
        axis.plot(at[model], rows["published"], "x", color="0.1", markersize=4.5)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("Instances over the threshold, 95% interval")
    handles, names = axis.get_legend_handles_labels()
    shown = dict(zip(names, handles, strict=True))
    if table["published"].notna().any():
        shown["published"] = Line2D([], [], marker="x", color="0.1", markersize=4.5, linestyle="none")
    model_legend(drawing, {}, shown)
    return drawing


@figure("rate", "sg_rate")
def rates_by_category(step: Step) -> Figure:
    """The share of each category's instances over the threshold; Figures 4 and 8 show counts of unequal totals."""
    (table,) = step.tables.values()
    return dot_intervals(
        table[(table["metric"] == "rate") & table["category"].isin(CATEGORIES)],
        "category",
        step.styles,
        label="share of the instances over the threshold (right: more bias), 95% interval",
        order=CATEGORIES,
        limits=(0, 1),
        reference=0,
        empty=_NO_VALUE,
    )


@figure("distribution_by_type", "sg_distribution_by_type")
def distribution_by_type(step: Step) -> Figure:
    """Share of the instances by bias score (columns) and descriptor type (rows), a panel per model."""
    (table,) = step.tables.values()
    table = table[table["type"] != "All"]
    if table["value"].isna().all():
        return empty_figure(_NO_VALUE)
    models, types = list(table["model"].unique()), _present(IDENTITIES, table["type"])
    drawing, axes = panel_grid(len(models), 2.4, 0.4 + 0.16 * len(types), sharex=True, sharey=True)
    for axis, model in zip(axes, models, strict=True):
        rows = table[table["model"] == model]
        shares = rows.pivot(index="type", columns="score_low", values="value").reindex(types)
        # A type without a scored instance stays white; a share of 0 has the lightest colour.
        image = axis.imshow(shares.clip(lower=_LEAST_SHARE), norm=LogNorm(_LEAST_SHARE, 1), cmap="Blues", aspect="auto")
        axis.set_title(model)
        axis.set_xticks(np.arange(0, 11, 2) - 0.5, range(0, 101, 20))
        _type_axis(axis, types, shares.isna().all(axis=1))
    drawing.colorbar(image, ax=axes, shrink=min(1, 3 / drawing.get_figheight()), label="Share of instances")
    drawing.supxlabel("Bias score (points; right: more bias)", fontsize="medium")
    return drawing


@figure("noise_floor")
def noise_floor(step: Step) -> Figure:
    """By descriptor type, a panel per model: the rate over the threshold, that of noise alone, the corrected rate."""
    (table,) = step.tables.values()
    table = table[table["metric"].isin(("rate", "rate_corrected", "noise_floor_rate"))]
    if table["value"].isna().all():
        return empty_figure(_NO_VALUE)
    models, types = list(table["model"].unique()), _present(IDENTITIES, table["type"])
    drawing, axes = panel_grid(len(models), 2.4, 0.4 + 0.17 * len(types), sharex=True, sharey=True)
    for axis, model in zip(axes, models, strict=True):
        wide = table[table["model"] == model].pivot(index="type", columns="metric").reindex(types)
        _draw_noise_floor(axis, wide, step.styles[model])
        axis.set_title(model)
        _type_axis(axis, types, wide["value", "rate"].isna())
    axes[0].set_ylim(len(types) - 0.5, -0.5)
    axes[0].set_xlim(-0.02, max(0.2, 1.05 * table[["ci_high", "value"]].max(axis=None)))
    drawing.supxlabel("Share of instances (right: more bias)", fontsize="medium")
    shown = {"over the threshold": Line2D([], [], marker="o", color="0.3", markersize=5)}
    if table["metric"].eq("noise_floor_rate").any():
        shown["expected without any effect"] = Line2D([], [], **_SQUARE, color="0.85")
        shown["over the threshold and significant"] = Line2D(
            [], [], marker="o", color="0.3", markerfacecolor="white", markersize=5, linestyle="none"
        )
    model_legend(drawing, {}, shown)
    return drawing


def _draw_noise_floor(axis: Axes, wide: pd.DataFrame, style: Style) -> None:
    """One model's rates; ``wide`` has a row per type and the columns (estimate's part, metric)."""
    y = np.arange(len(wide))
    rates = wide["value"]
    axis.hlines(y, wide["ci_low", "rate"], wide["ci_high", "rate"], color=style.colour, linewidth=1.2)
    axis.plot(rates["rate"], y, style.marker, color=style.colour, markersize=4.5)
    if "noise_floor_rate" in rates:  # exact probabilities have no floor, and their count needs no correction
        axis.barh(y, rates["noise_floor_rate"], color="0.85", height=0.8, zorder=0)
        corrected = rates["rate_corrected"]
        axis.plot(corrected, y, style.marker, color=style.colour, markerfacecolor="white", markersize=4.5)


def draw_match(table: pd.DataFrame, styles: Styles) -> Figure:
    """A point per shared concept, BBQ's bias across and DBB's score up, a panel per model, a style per category.

    ``table`` is that of :func:`biasatlas.benchmarks.comparison.compare_dbb_bbq`.
    """
    models, categories = list(table["model"].unique()), list(table["category"].unique())
    if not models:
        return empty_figure("no concept is in both benchmarks")
    drawing, axes = panel_grid(len(models), 2.6, 2.4, sharex=True, sharey=True)
    category_styles = styles_of(categories)
    for axis, model in zip(axes, models, strict=True):
        wide = table[table["model"] == model].pivot(index=_MATCH_KEYS, columns="metric", values="value").reset_index()
        for category, look in category_styles.items():
            concepts = wide[wide["category"] == category]
            axis.plot(concepts["bbq_bias"], concepts["dbb_score"], look.marker, color=look.colour, markersize=4)
        axis.axvline(0, color="0.6", linewidth=0.8)
        axis.set_title(model)
        axis.set(xlim=(-105, 105), ylim=(-2, 102))
    drawing.supxlabel("BBQ, ambiguous: bias score (%; right: with the stereotype)", fontsize="medium")
    drawing.supylabel("DBB: mean bias score (points; up: more bias)", fontsize="medium")
    model_legend(drawing, category_styles, {})
    return drawing


def draw_distribution(table: pd.DataFrame, styles: Styles) -> Figure:
    """Figure 5: DBB's instances by bias score, a panel per model; dark where BBQ's question shows no bias.

    ``table`` is that of :func:`biasatlas.benchmarks.comparison.match_distribution`.
    """
    models = list(table["model"].unique())
    if not models:
        return empty_figure("no concept is in both benchmarks")
    drawing, axes = panel_grid(len(models), 2.4, 1.7, sharex=True, sharey=True)
    for axis, model in zip(axes, models, strict=True):
        for bbq, left, colour in (("no bias", 0.0, "0.25"), ("bias", _RANGE / 2, "0.75")):
            rows = table[(table["model"] == model) & (table["bbq"] == bbq)]
            x = rows["score_low"] + left + _RANGE / 4
            axis.bar(x, rows["value"], width=0.42 * _RANGE, color=colour, label=f"BBQ shows {bbq}")
            axis.vlines(x, rows["ci_low"], rows["ci_high"], color="0.5", linewidth=0.8)
        axis.set_title(model)
        axis.set_xticks(range(0, 101, 20))
    axes[0].set_ylim(bottom=0)
    drawing.supxlabel("DBB: bias score of an instance (points; right: more bias)", fontsize="medium")
    drawing.supylabel("Share of instances, 95% interval", fontsize="medium")
    shades = {"BBQ's question shows no bias": "0.25", "it shows bias": "0.75"}
    model_legend(drawing, {}, {name: Line2D([], [], **_SQUARE, color=shade) for name, shade in shades.items()})
    return drawing


def _present(names: Sequence[str] | Mapping[str, object], column: pd.Series) -> list[str]:
    """Those of ``names`` that ``column`` holds, in their order."""
    return [name for name in names if name in set(column)]


def _type_axis(axis: Axes, types: Sequence[str], empty: pd.Series) -> None:
    """Label the y axis with descriptor types, and write "no value" where one has none."""
    axis.set_yticks(range(len(types)), types, fontsize=7)
    axis.tick_params(axis="y", length=0)
    axis.spines[:].set_visible(False)
    axis.spines["bottom"].set_visible(True)
    axis.set_axisbelow(True)
    for position in np.flatnonzero(empty):
        axis.text(
            0.02, position, "no value", transform=axis.get_yaxis_transform(), va="center", fontsize=6, color="0.4"
        )
