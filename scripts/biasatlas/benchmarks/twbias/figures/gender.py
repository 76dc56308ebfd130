"""Figures of the sentences about women and men (Figures 2, 3 and 7)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import figure
from biasatlas.benchmarks.shared.palette import MARKERS, Look, Looks
from biasatlas.benchmarks.shared.plots import empty_figure, grouped_bars
from biasatlas.benchmarks.twbias.figures.panels import (
    MANY,
    SIDE_BY_SIDE,
    attribute_categories,
    colour_bar,
    colour_limit,
    legend,
    panel_grid,
)
from biasatlas.benchmarks.twbias.vocabulary import GENDERS, GROUP_NAMES, PROMPT_TYPES

_LEAST_P_VALUE = 1e-300  # a smaller one, or a 0 from underflow, has no place on a logarithmic axis
_MARKER_NOTE = "hollow: no prompt significant; no marker: not tested"
_TYPE_NAMES = ("0", "00", *map(str, range(1, 11)))  # in the paper


@figure("p_values_by_prompt")
def p_values_by_prompt(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """P-value of each gender direction's test by prompt type, a line per model, with the 0.05 line."""
    table = tables["prompts"]
    table = table[(table["metric"] == "p_value") & table["target_group"].isin(GENDERS)]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about gender were scored")
    models = list(table["model"].unique())
    drawing = Figure(figsize=(9.6, 3.4 + 0.2 * len(models) / SIDE_BY_SIDE + 0.1 * len(models)))
    groups = [group for group in GENDERS if (table["target_group"] == group).any()]
    axes = drawing.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for axis, group in zip(axes, groups, strict=True):
        axis.axhspan(_LEAST_P_VALUE / 10, 0.05, color="0.94", zorder=0)
        axis.axhline(0.05, color="0.5", linewidth=0.8)
        axis.axvline(1.5, color="0.8", linewidth=0.8, linestyle=":")
        for model, rows in table[table["target_group"] == group].groupby("model", sort=False):
            _p_value_line(axis, rows.set_index("prompt_type")["value"], *looks[model])
        axis.set(title=f"{GROUP_NAMES[group]} sentences", yscale="log")
        axis.set_xlabel("Prompt type (0: no template, 00: no prompt)")
        axis.set_xticks(range(len(PROMPT_TYPES)), _TYPE_NAMES)
    least = min(table["value"].clip(lower=_LEAST_P_VALUE).min(), 0.01)
    decades = int(np.ceil(-np.log10(least)))
    axes[0].set_yticks(10.0 ** -np.arange(0, decades + 1, -(-decades // 8)))
    axes[0].set(ylabel="p-value of the swap", ylim=(least**1.05, least**-0.03))  # room for the markers at both ends
    # In the corner that points seldom reach: below the line they would cover it.
    axes[0].text(0.98, 0.03, "shaded: p < 0.05", transform=axes[0].transAxes, ha="right", fontsize=7, color="0.4")
    legend(drawing, models, looks)
    return drawing


def _p_value_line(axis: Axes, p_values: pd.Series, colour: str, marker: str) -> None:
    values = p_values.reindex(list(PROMPT_TYPES)).clip(lower=_LEAST_P_VALUE).to_numpy()
    positions = np.arange(len(values))
    # Types without a user prompt stand apart: they do not enter the bias ratio, so no line joins them.
    axis.plot(positions[2:], values[2:], color=colour, linewidth=0.8, alpha=0.6)
    axis.plot(positions, values, marker, color=colour, markersize=4.5)


@figure("p_values_as_printed")
def p_values_as_printed(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Figures 2 and 7: p-value of the swap of women's sentences by prompt type, a panel per model; type 0 is dark.

    A bar bears its type, and the dashed line is at 0.05. Values near 0, which a linear axis hides, and men's sentences are
    in :func:`p_values_by_prompt`.
    """
    table = tables["prompts"]
    table = table[(table["metric"] == "p_value") & (table["target_group"] == "female")]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about women were scored")
    models = list(table["model"].unique())
    drawing, axes = panel_grid(len(models), 2.6 if len(models) > 1 else 4.5, 1.9, sharex=True, sharey=True)
    for axis, model in zip(axes, models, strict=True):
        values = table[table["model"] == model].pivot(index="prompt_type", columns="model", values="value")
        values = values.reindex(list(PROMPT_TYPES))
        grouped_bars(axis, values, {model: Look("0.7", MARKERS[0])})
        axis.containers[0][0].set_color("0.25")  # no template
        for place, (value, name) in enumerate(zip(values[model], _TYPE_NAMES, strict=True)):
            if np.isfinite(value):
                axis.annotate(name, (place, value), (0, 1.5), textcoords="offset points", ha="center", fontsize=6)
        axis.axhline(0.05, color="0.3", linewidth=0.8, linestyle="--")
        axis.set(title=model, ylim=(0, max(0.1, 1.1 * table["value"].max())))
        axis.set_xticks([])
    drawing.supxlabel("Prompt type, on its bar (0: no template, 00: no prompt); the dashed line is at 0.05", fontsize=9)
    drawing.supylabel("p-value of the swap, women's sentences", fontsize=9)
    return drawing


@figure("gender_attributes")
def gender_attributes(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Figure 3: effect size of the gender swaps by attribute category, over all ten prompts, with its interval.

    A filled marker has at least one significant prompt. A category that could not be tested keeps its place, empty. Up
    to four models share a category's row; more have a row each in a panel per category.
    """
    table = tables["attributes"]
    table = table[table["target_group"].isin(GENDERS)]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about gender were scored, or every attribute category is too small")
    effects = table[table["metric"] == "effect_size_all_prompts"]
    keys = ["model", "target_group", "attribute_category"]
    ratios = table[table["metric"] == "bias_ratio"].set_index(keys)["value"]
    effects = effects.assign(significant=ratios.reindex(pd.MultiIndex.from_frame(effects[keys])).to_numpy() > 0)
    models = list(table["model"].unique())
    if len(models) > SIDE_BY_SIDE:
        return _panel_per_category(effects, models, looks)
    drawing = _row_per_category(effects, models, looks)
    legend(drawing, models, looks, _MARKER_NOTE)
    return drawing


def _row_per_category(effects: pd.DataFrame, models: Sequence[str], looks: Looks) -> Figure:
    categories = {
        group: attribute_categories(effects, group) for group in GENDERS if (effects["target_group"] == group).any()
    }
    longest = max(map(len, categories.values()))
    drawing = Figure(figsize=(9.6, 1.4 + (0.16 + 0.1 * len(models)) * longest))
    offsets = dict(zip(models, (np.arange(len(models)) - (len(models) - 1) / 2) * 0.7 / len(models), strict=True))
    axes = drawing.subplots(1, len(categories), sharex=True, squeeze=False)[0]
    for axis, group in zip(axes, categories, strict=True):
        rows = effects[effects["target_group"] == group]
        numbers = {category: number for number, category in enumerate(categories[group])}
        _dots(axis, rows, rows["attribute_category"].map(numbers) + rows["model"].map(offsets), looks)
        axis.set(title=f"{GROUP_NAMES[group]} sentences", xlabel="Effect size of the swap, all prompts")
        axis.set_yticks(range(len(numbers)), [f"{name} ({n})" for name, n in categories[group].items()])
        axis.set_ylim(len(numbers) - 0.5, -0.5)
        for number in range(1, len(numbers), 2):
            axis.axhspan(number - 0.5, number + 0.5, color="0.965", zorder=0)
    return drawing


def _panel_per_category(effects: pd.DataFrame, models: Sequence[str], looks: Looks) -> Figure:
    panels = [(group, *category) for group in GENDERS for category in attribute_categories(effects, group).items()]
    drawing, axes = panel_grid(len(panels), 2.1, 0.45 + 0.11 * len(models), MANY, sharex=True, sharey=True)
    numbers = {model: number for number, model in enumerate(models)}
    for axis, (group, category, n) in zip(axes, panels, strict=True):
        rows = effects[(effects["target_group"] == group) & (effects["attribute_category"] == category)]
        _dots(axis, rows, rows["model"].map(numbers), looks)
        axis.set_title(f"{GROUP_NAMES[group]}: {category} ({n})", fontsize=8, loc="left")
        axis.set_yticks(range(len(models)), models, fontsize=7)
        axis.set_ylim(len(models) - 0.5, -0.5)
    drawing.supxlabel(f"Effect size of the swap, all prompts ({_MARKER_NOTE})", fontsize=9)
    return drawing


def _dots(axis: Axes, rows: pd.DataFrame, heights: pd.Series, looks: Looks) -> None:
    """A dot at its height and an interval for each of the ``rows``; hollow where no prompt is significant."""
    for effect, height in zip(rows.itertuples(), heights, strict=True):
        colour, marker = looks[effect.model]
        face = colour if effect.significant else "white"
        axis.hlines(height, effect.ci_low, effect.ci_high, color=colour, linewidth=1.2)
        axis.plot(effect.value, height, marker, color=colour, markersize=4.5, markerfacecolor=face)
    axis.axvline(0, color="0.5", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.grid(axis="y", color="0.92", linewidth=0.8)
    axis.tick_params(axis="y", length=0)


@figure("gender_attributes_as_printed")
def gender_attributes_as_printed(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Figure 3: bias ratio of women's sentences by attribute category, a panel per model; the colour is the effect size.

    Both depend on which prompts are significant: :func:`gender_attributes` draws the effect over all ten instead.
    """
    table = tables["attributes"]
    table = table[table["target_group"] == "female"]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about women were scored, or every attribute category is too small")
    models, categories = list(table["model"].unique()), attribute_categories(table, "female")
    colours = ScalarMappable(
        Normalize(*(np.array([-1, 1]) * colour_limit(table[table["metric"] == "effect_size"]))), "RdBu_r"
    )
    drawing, axes = panel_grid(
        len(models), 2.4 if len(models) > 1 else 4.0, 0.5 + 0.16 * len(categories), sharex=True, sharey=True
    )
    for axis, model in zip(axes, models, strict=True):
        rows = table[table["model"] == model].pivot(index="attribute_category", columns="metric", values="value")
        rows = rows.reindex(list(categories))
        y = np.arange(len(rows))
        axis.barh(
            y, rows["bias_ratio"].fillna(0), color=colours.to_rgba(rows["effect_size"].fillna(0)), edgecolor="0.4"
        )
        for place in np.flatnonzero(rows["bias_ratio"].isna()):
            axis.text(0.02, place, "not tested", va="center", fontsize=6, color="0.4")
        axis.set_yticks(y, [f"{name} ({n})" for name, n in categories.items()], fontsize=7)
        axis.set(title=model, xlim=(0, 1.02), ylim=(len(rows) - 0.5, -0.5))
        axis.tick_params(axis="y", length=0)
    colour_bar(drawing, colours, axes, "Effect size of the significant prompts (red: the stereotype)")
    drawing.supxlabel("Bias ratio (share of significant prompts), women's sentences", fontsize=9)
    return drawing
