"""Figures of the sentences about ethnic groups (Figures 5 and 6)."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from biasatlas.benchmarks.contract import figure
from biasatlas.benchmarks.shared.palette import Looks
from biasatlas.benchmarks.shared.plots import empty_figure
from biasatlas.benchmarks.twbias.figures.panels import (
    MANY,
    SIDE_BY_SIDE,
    attribute_categories,
    cell_labels,
    colour_bar,
    colour_limit,
    heat_map,
    panel_grid,
    short_name,
    value_grid,
)
from biasatlas.benchmarks.twbias.vocabulary import ETHNIC_GROUPS, GROUP_NAMES


@figure("ethnic_grid")
def ethnic_grid(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Figure 5: effect size (colour, upper number) and bias ratio (lower number) of each ethnic direction, by model."""
    table = tables["ethnicity"]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about ethnic groups were scored")
    models = list(table["model"].unique())
    groups = (*ETHNIC_GROUPS[1:], "indigenous")  # the last row, as in print, whose text speaks of it
    references = (*groups, "han")
    drawing, axes = panel_grid(len(models), 3.1, 2.5, sharey=True)
    limit = colour_limit(table[table["metric"] == "effect_size"])
    for axis, model in zip(axes, models, strict=True):
        rows = table[table["model"] == model]
        effects, ratios = (
            value_grid(rows, metric, "target_group", groups, references) for metric in ("effect_size", "bias_ratio")
        )
        image = heat_map(axis, effects, cell_labels("{:+.2f}\n{:.1f}", effects, ratios), limit)
        axis.set_xticks(range(len(references)), map(short_name, references), fontsize=7)
        axis.set_yticks(range(len(groups)), map(short_name, groups), fontsize=8)
        axis.set_title(model)
    colour_bar(drawing, image, axes, "Effect size; below it the share of significant prompts")
    drawing.supylabel("Sentences about", fontsize=9)
    drawing.supxlabel("Swapped for", fontsize=9)
    return drawing


@figure("ethnic_attributes")
def ethnic_attributes(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Figure 6: effect size over all ten prompts, by target group, attribute category, reference group and model.

    Bold where at least half of the prompts are significant; empty where a category is too small to be tested.
    """
    table = tables["attributes"]
    table = table[table["target_group"].isin(ETHNIC_GROUPS)]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about ethnic groups were scored, or every attribute category is too small")
    models = list(table["model"].unique())
    categories = {
        group: attribute_categories(table, group) for group in ETHNIC_GROUPS if (table["target_group"] == group).any()
    }
    sizes = [len(names) for names in categories.values()]
    # More models than stand side by side share the page: narrower panels with smaller numbers in them.
    many = len(models) > SIDE_BY_SIDE
    blocks = -(-len(models) // (7 if many else SIDE_BY_SIDE))  # of a row of axes for each group
    columns = -(-len(models) // blocks)
    width, line, gap = (1.8, 0.145, 0.3) if many else (2.4, 0.19, 0.45)
    drawing = Figure(figsize=(2.8 + width * columns, 1.2 + blocks * (gap * len(sizes) + line * sum(sizes))))
    grid = drawing.subplots(blocks * len(sizes), columns, height_ratios=sizes * blocks, squeeze=False)
    grid = grid.reshape(blocks, len(sizes), columns).swapaxes(1, 2).reshape(-1, len(sizes))  # a row per model
    limit = colour_limit(table[table["metric"] == "effect_size_all_prompts"])
    for number, model in enumerate(models):
        rows = table[table["model"] == model]
        for axis, (group, names) in zip(grid[number], categories.items(), strict=True):
            of_group = rows[rows["target_group"] == group]
            image = _attribute_heat(axis, of_group, group, list(names), limit, 5.5 if many else 7)
            if number % columns == 0:
                axis.set_yticks(range(len(names)), [f"{name} ({n})" for name, n in names.items()], fontsize=7)
                axis.set_ylabel(GROUP_NAMES[group].replace(" ", "\n"), fontweight="bold")
        grid[number, 0].set_title(model)
    for axis in grid[len(models) :].flat:
        axis.remove()
    drawing.align_ylabels()
    colour_bar(drawing, image, list(grid[: len(models)].flat), "Effect size, all prompts")
    drawing.supxlabel("Swapped for (bold: at least half of the prompts significant)", fontsize=9)
    return drawing


def _attribute_heat(
    axis: Axes, rows: pd.DataFrame, group: str, categories: Sequence[str], limit: float, fontsize: float
) -> AxesImage:
    """The attribute categories of one model's sentences about ``group`` by the group swapped in."""
    references = [reference for reference in (*ETHNIC_GROUPS, "han") if reference != group]
    effects, ratios = (
        value_grid(rows, metric, "attribute_category", categories, references)
        for metric in ("effect_size_all_prompts", "bias_ratio")
    )
    axis.set_xticks(range(len(references)), map(short_name, references), fontsize=fontsize)
    axis.set_yticks([])
    return heat_map(axis, effects, cell_labels("{:+.2f}", effects), limit, bold=ratios >= 0.5, fontsize=fontsize)


@figure("ethnic_attributes_as_printed")
def ethnic_attributes_as_printed(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Figure 6: sentences about Indigenous Peoples by attribute category and group swapped in, two panels per model.

    (a) the bias ratio, (b) the effect size over the significant prompts, 0 where there are none.
    """
    table = tables["attributes"]
    table = table[table["target_group"] == "indigenous"]
    if table["value"].notna().sum() == 0:
        return empty_figure(
            "no sentences about Indigenous Peoples were scored, or every attribute category is too small"
        )
    models, categories = list(table["model"].unique()), attribute_categories(table, "indigenous")
    references = [reference for reference in (*ETHNIC_GROUPS, "han") if reference != "indigenous"]
    drawing, axes = panel_grid(2 * len(models), 2.2, 0.75 + 0.17 * len(categories), MANY, sharex=True, sharey=True)
    limit = colour_limit(table[table["metric"] == "effect_size"])
    for number, model in enumerate(models):
        rows = table[table["model"] == model]
        ratio, effect = (
            value_grid(rows, metric, "attribute_category", list(categories), references)
            for metric in ("bias_ratio", "effect_size")
        )
        left, right = axes[2 * number : 2 * number + 2]
        heat_map(left, ratio, cell_labels("{:.1f}", ratio), 1, share=True)
        image = heat_map(right, effect, cell_labels("{:+.2f}", effect), limit)
        left.set_title(f"{model}\n(a) bias ratio", fontsize=8)
        right.set_title(f"{model}\n(b) effect size", fontsize=8)
        for axis in (left, right):
            axis.set_xticks(range(len(references)), map(short_name, references), fontsize=7)
            axis.set_yticks(range(len(categories)), [f"{name} ({n})" for name, n in categories.items()], fontsize=7)
    colour_bar(drawing, image, axes, "Effect size of the significant prompts")
    drawing.supxlabel("Sentences about Indigenous Peoples, swapped for", fontsize=9)
    return drawing
