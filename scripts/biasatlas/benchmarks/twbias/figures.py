"""TWBias's figures, drawn from its tables."""

import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.shared.plots import dot_intervals, empty_figure, grouped_bars, model_legend, panel_grid
from biasatlas.benchmarks.shared.styles import MARKERS, Style
from biasatlas.benchmarks.twbias.spec import ETHNIC_GROUPS, GENDERS, GROUP_NAMES, PROMPT_TYPES, SMALLEST

#: Panels in a row; more of them continue in the next row, or are given more room.
_SIDE_BY_SIDE = 4

_LEAST_P_VALUE = 1e-300  # a smaller one, or a 0 from underflow, has no place on a logarithmic axis
_EFFECT = "effect size of the swap, all prompts (right: with the stereotype; hollow: no prompt significant)"
_TYPE_NAMES = ("0", "00", *map(str, range(1, 11)))  # in the paper


@figure("own_group")
def own_group(step: Step) -> Figure:
    """The headline by pair of groups, over terms, with its interval; the grey band is too small to matter, and a pair
    that failed in simulations is hollow."""
    table = step.tables["own_group"]
    rows = table[(table["metric"] == "own_group_advantage") & (table["over"] == "terms")]
    pairs = [f"{GROUP_NAMES[a]} / {GROUP_NAMES[b]}" for a, b in zip(rows["group"], rows["other_group"], strict=True)]
    failed = {
        card["of"] for card in step.cards if (card["metric"], card["verdict"]) == ("own_group_advantage", "descriptive")
    }
    hollow = [f"{a}, {b}, terms" in failed for a, b in zip(rows["group"], rows["other_group"], strict=True)]
    drawing = dot_intervals(
        rows.assign(pair=pairs, hollow=hollow),
        "pair",
        step.styles,
        label="log-likelihood of a stereotype about its own group minus the other (nats a sentence)\n"
        f"right: with the stereotype; grey: too small to matter{'; hollow: failed in simulations' * any(hollow)}",
        reference=0,
        empty="no pair of groups has sentences of both",
    )
    for axis in drawing.axes:
        axis.axvspan(-SMALLEST, SMALLEST, color="0.9", zorder=0)
    return drawing


@figure("p_values_by_prompt")
def p_values_by_prompt(step: Step) -> Figure:
    """P-value of each gender direction's test by prompt type, a line per model, with the 0.05 line."""
    table = step.tables["prompts"]
    table = table[(table["metric"] == "p_value") & table["target_group"].isin(GENDERS)]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about gender were scored")
    models = list(table["model"].unique())
    drawing = Figure(figsize=(9.6, 3.4 + 0.2 * len(models) / _SIDE_BY_SIDE + 0.1 * len(models)))
    groups = [group for group in GENDERS if (table["target_group"] == group).any()]
    axes = drawing.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for axis, group in zip(axes, groups, strict=True):
        axis.axhspan(_LEAST_P_VALUE / 10, 0.05, color="0.94", zorder=0)
        axis.axhline(0.05, color="0.5", linewidth=0.8)
        axis.axvline(1.5, color="0.8", linewidth=0.8, linestyle=":")
        for model, rows in table[table["target_group"] == group].groupby("model", sort=False):
            _p_value_line(axis, rows.set_index("prompt_type")["value"], *step.styles[model])
        axis.set(title=f"{GROUP_NAMES[group]} sentences", yscale="log")
        axis.set_xlabel("Prompt type (0: no template, 00: no prompt)")
        axis.set_xticks(range(len(PROMPT_TYPES)), _TYPE_NAMES)
    least = min(table["value"].clip(lower=_LEAST_P_VALUE).min(), 0.01)
    decades = int(np.ceil(-np.log10(least)))
    axes[0].set_yticks(10.0 ** -np.arange(0, decades + 1, -(-decades // 8)))
    axes[0].set(ylabel="p-value of the swap", ylim=(least**1.05, least**-0.03))  # room for the markers at both ends
    # In the corner that points seldom reach: below the line they would cover it.
    axes[0].text(0.98, 0.03, "shaded: p < 0.05", transform=axes[0].transAxes, ha="right", fontsize=7, color="0.4")
    model_legend(drawing, {model: step.styles[model] for model in models}, {})
    return drawing


def _p_value_line(axis: Axes, p_values: pd.Series, colour: str, marker: str) -> None:
    values = p_values.reindex(list(PROMPT_TYPES)).clip(lower=_LEAST_P_VALUE).to_numpy()
    positions = np.arange(len(values))
    # Types without a user prompt stand apart: they do not enter the bias ratio, so no line joins them.
    axis.plot(positions[2:], values[2:], color=colour, linewidth=0.8, alpha=0.6)
    axis.plot(positions, values, marker, color=colour, markersize=4.5)


@figure("p_values_as_printed")
def p_values_as_printed(step: Step) -> Figure:
    """Figures 2 and 7: p-value of the swap of women's sentences by prompt type, a panel per model; type 0 is dark.

    Bars are labelled with their type, and the dashed line is at 0.05. Values near 0, which a linear axis hides, and
    men's sentences are in :func:`p_values_by_prompt`.
    """
    table = step.tables["prompts"]
    table = table[(table["metric"] == "p_value") & (table["target_group"] == "female")]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about women were scored")
    models = list(table["model"].unique())
    drawing, axes = panel_grid(len(models), 2.6 if len(models) > 1 else 4.5, 1.9, sharex=True, sharey=True)
    for axis, model in zip(axes, models, strict=True):
        values = table[table["model"] == model].pivot(index="prompt_type", columns="model", values="value")
        values = values.reindex(list(PROMPT_TYPES))
        grouped_bars(axis, values, {model: Style("0.7", MARKERS[0])})
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
def gender_attributes(step: Step) -> Figure:
    """Figure 3: effect size of the gender swaps by attribute category, over all ten prompts, with its interval.

    A filled marker has at least one significant prompt. A category that is too small to be tested is left out.
    """
    table = step.tables["attributes"]
    table = table[table["target_group"].isin(GENDERS)].sort_values("target_group", kind="stable")
    keys = ["model", "target_group", "attribute_category"]
    ratios = table[table["metric"] == "bias_ratio"].set_index(keys)["value"]
    effects = table[table["metric"] == "effect_size_all_prompts"]
    effects = effects[effects.groupby("attribute_category")["value"].transform("count") > 0]
    effects = effects.assign(hollow=~(ratios.reindex(pd.MultiIndex.from_frame(effects[keys])).to_numpy() > 0))
    return dot_intervals(
        effects,
        "attribute_category",
        step.styles,
        label=_EFFECT,
        reference=0,
        order=list(_attribute_categories(effects)),
        names={group: f"{GROUP_NAMES[group]} sentences" for group in GENDERS},
        panels="target_group",
        empty="no sentences about gender were scored, or every attribute category is too small",
    )


@figure("gender_attributes_as_printed")
def gender_attributes_as_printed(step: Step) -> Figure:
    """Figure 3: bias ratio of women's sentences by attribute category, a panel per model.

    The colour is the effect size. Both depend on which prompts are significant: :func:`gender_attributes` draws the
    effect over all ten instead.
    """
    table = step.tables["attributes"]
    table = table[table["target_group"] == "female"]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about women were scored, or every attribute category is too small")
    models, categories = list(table["model"].unique()), _attribute_categories(table)
    colours = ScalarMappable(
        Normalize(*(np.array([-1, 1]) * _colour_limit(table[table["metric"] == "effect_size"]))), "RdBu_r"
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
    _colour_bar(drawing, colours, axes, "Effect size of the significant prompts (red: the stereotype)")
    drawing.supxlabel("Bias ratio (share of significant prompts), women's sentences", fontsize=9)
    return drawing


@figure("ethnic_grid")
def ethnic_grid(step: Step) -> Figure:
    """Figure 5: effect size (colour, upper number) and bias ratio (lower number) of each ethnic direction, by model.

    Perplexity moves with the terms themselves, so a model without bias is far from 0 here; the title says so.
    """
    table = step.tables["ethnicity"]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about ethnic groups were scored")
    models = list(table["model"].unique())
    groups = (*ETHNIC_GROUPS[1:], "indigenous")  # the last row, as in the paper, whose text speaks of it
    references = (*groups, "han")
    many = len(models) > _SIDE_BY_SIDE
    drawing, axes = panel_grid(len(models), 3.1, 1.75 if many else 2.5, 3, sharey=True)
    limit = _colour_limit(table[table["metric"] == "effect_size"])
    for axis, model in zip(axes, models, strict=True):
        rows = table[table["model"] == model]
        effects, ratios = (
            _value_grid(rows, metric, "target_group", groups, references) for metric in ("effect_size", "bias_ratio")
        )
        image = _heat_map(axis, effects, _cell_labels("{:+.2f}\n{:.1f}", effects, ratios), limit)
        axis.set_xticks(range(len(references)), map(_short_name, references), fontsize=7)
        axis.set_yticks(range(len(groups)), map(_short_name, groups), fontsize=8)
        axis.set_title(model)
    _colour_bar(drawing, image, axes, "Effect size; below it the share of significant prompts")
    _no_verdict(drawing)
    drawing.supylabel("Sentences about", fontsize=9)
    drawing.supxlabel("Swapped for", fontsize=9)
    return drawing


@figure("ethnic_attributes")
def ethnic_attributes(step: Step) -> Figure:
    """Figure 6: effect size over all ten prompts, by target group, attribute category, reference group and model.

    Bold where at least half of the prompts are significant; empty where a category is too small to be tested.
    """
    table = step.tables["attributes"]
    table = table[table["target_group"].isin(ETHNIC_GROUPS)]
    if table["value"].notna().sum() == 0:
        return empty_figure("no sentences about ethnic groups were scored, or every attribute category is too small")
    models = list(table["model"].unique())
    by_group = dict(list(table.groupby("target_group")))
    categories = {group: _attribute_categories(by_group[group]) for group in ETHNIC_GROUPS if group in by_group}
    sizes = [len(names) for names in categories.values()]
    # Models that do not fit side by side get narrower panels with smaller numbers.
    many = len(models) > _SIDE_BY_SIDE
    blocks = -(-len(models) // (5 if many else _SIDE_BY_SIDE))  # of a row of axes for each group
    columns = -(-len(models) // blocks)
    width, line, gap = (1.8, 0.145, 0.3) if many else (2.4, 0.19, 0.45)
    drawing = Figure(figsize=(2.8 + width * columns, 1.2 + blocks * (gap * len(sizes) + line * sum(sizes))))
    grid = drawing.subplots(blocks * len(sizes), columns, height_ratios=sizes * blocks, squeeze=False)
    grid = grid.reshape(blocks, len(sizes), columns).swapaxes(1, 2).reshape(-1, len(sizes))  # a row per model
    limit = _colour_limit(table[table["metric"] == "effect_size_all_prompts"])
    for number, model in enumerate(models):
        rows = table[table["model"] == model]
        for axis, (group, names) in zip(grid[number], categories.items(), strict=True):
            of_group = rows[rows["target_group"] == group]
            image = _attribute_heat(axis, of_group, group, list(names), limit, 5.5 if many else 7)
            if number % columns == 0:
                axis.set_yticks(range(len(names)), [f"{name} ({n})" for name, n in names.items()], fontsize=7)
                axis.set_ylabel(
                    GROUP_NAMES[group].replace(" ", "\n"), fontweight="bold", rotation=0, ha="right", va="center"
                )
        grid[number, 0].set_title(model)
    for axis in grid[len(models) :].flat:
        axis.remove()
    drawing.align_ylabels()
    _colour_bar(drawing, image, list(grid[: len(models)].flat), "Effect size, all prompts")
    _no_verdict(drawing)
    drawing.supxlabel("Swapped for (bold: at least half of the prompts significant)", fontsize=9)
    return drawing


def _attribute_heat(
    axis: Axes, rows: pd.DataFrame, group: str, categories: Sequence[str], limit: float, fontsize: float
) -> AxesImage:
    """The attribute categories of one model's sentences about ``group`` by the group swapped in."""
    references = [reference for reference in (*ETHNIC_GROUPS, "han") if reference != group]
    effects, ratios = (
        _value_grid(rows, metric, "attribute_category", categories, references)
        for metric in ("effect_size_all_prompts", "bias_ratio")
    )
    axis.set_xticks(range(len(references)), map(_short_name, references), fontsize=fontsize)
    axis.set_yticks([])
    return _heat_map(axis, effects, _cell_labels("{:+.2f}", effects), limit, bold=ratios >= 0.5, fontsize=fontsize)


@figure("ethnic_attributes_as_printed")
def ethnic_attributes_as_printed(step: Step) -> Figure:
    """Figure 6: sentences about Indigenous Peoples by attribute category and group swapped in, two panels per model.

    (a) the bias ratio, (b) the effect size over the significant prompts, 0 where there are none.
    """
    table = step.tables["attributes"]
    table = table[table["target_group"] == "indigenous"]
    if table["value"].notna().sum() == 0:
        return empty_figure(
            "no sentences about Indigenous Peoples were scored, or every attribute category is too small"
        )
    models, categories = list(table["model"].unique()), _attribute_categories(table)
    references = [reference for reference in (*ETHNIC_GROUPS, "han") if reference != "indigenous"]
    drawing, axes = panel_grid(2 * len(models), 2.2, 0.75 + 0.17 * len(categories), sharex=True, sharey=True)
    limit = _colour_limit(table[table["metric"] == "effect_size"])
    for number, model in enumerate(models):
        rows = table[table["model"] == model]
        ratio, effect = (
            _value_grid(rows, metric, "attribute_category", list(categories), references)
            for metric in ("bias_ratio", "effect_size")
        )
        left, right = axes[2 * number : 2 * number + 2]
        _heat_map(left, ratio, _cell_labels("{:.1f}", ratio), 1, share=True)
        image = _heat_map(right, effect, _cell_labels("{:+.2f}", effect), limit)
        left.set_title(f"{model}\n(a) bias ratio", fontsize=8)
        right.set_title(f"{model}\n(b) effect size", fontsize=8)
        for axis in (left, right):
            axis.set_xticks(range(len(references)), map(_short_name, references), fontsize=7)
            axis.set_yticks(range(len(categories)), [f"{name} ({n})" for name, n in categories.items()], fontsize=7)
    _colour_bar(drawing, image, axes, "Effect size of the significant prompts")
    _no_verdict(drawing)
    drawing.supxlabel("Sentences about Indigenous Peoples, swapped for", fontsize=9)
    return drawing


def _no_verdict(drawing: Figure) -> None:
    """Set the title of figures of ethnic swaps, in which a model without bias is far from 0."""
    said = "Perplexity after a swap: the terms' own likelihood is in it, so this is no verdict"
    drawing.suptitle(textwrap.fill(said, int(14 * drawing.get_figwidth())), fontsize=9)


def _attribute_categories(rows: pd.DataFrame) -> dict[str, int]:
    """Attribute category -> its largest n, largest first."""
    return rows.groupby("attribute_category")["n"].max().sort_values(ascending=False, kind="stable").to_dict()


def _value_grid(
    rows: pd.DataFrame, metric: str, by: str, values: Sequence[str], references: Sequence[str]
) -> np.ndarray:
    """A metric by the ``values`` of the column ``by`` and the ``references``; missing where the table has no row."""
    wide = rows[rows["metric"] == metric].pivot(index=by, columns="reference_group", values="value")
    return wide.reindex(index=list(values), columns=list(references)).to_numpy(float)


def _cell_labels(form: str, *values: np.ndarray) -> np.ndarray:
    """A text for each cell, from its ``values``."""
    return np.vectorize(form.format, otypes=[object])(*values)


def _colour_limit(rows: pd.DataFrame) -> float:
    """The end of a colour scale around 0 that holds all values."""
    values = rows["value"].abs()
    return max(0.1, float(values[np.isfinite(values)].max()))


def _heat_map(
    axis: Axes,
    values: np.ndarray,
    labels: np.ndarray,
    limit: float,
    bold: np.ndarray | None = None,
    fontsize: float = 7,
    share: bool = False,
) -> AxesImage:
    """A grid of cells coloured on a diverging scale around 0; if they are a ``share``, in greys from 0 to ``limit``.

    Missing cells are grey and have no label.
    """
    axis.set_facecolor("0.93")
    colours, least = ("Greys", 0.0) if share else ("RdBu_r", -limit)
    image = axis.imshow(values, cmap=colours, vmin=least, vmax=limit, aspect="auto")
    for row, column in np.argwhere(np.isfinite(values)):
        axis.text(
            column,
            row,
            labels[row, column],
            ha="center",
            va="center",
            fontsize=fontsize,
            fontweight="bold" if bold is not None and bold[row, column] else "normal",
            color="white" if abs(values[row, column]) > 0.65 * limit else "black",
        )
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return image


def _short_name(group: str) -> str:
    """A group's name on an axis."""
    return GROUP_NAMES[group].removesuffix(" Peoples")


def _colour_bar(drawing: Figure, image: ScalarMappable, axes: Sequence[Axes], label: str) -> None:
    """A colour bar above all panels."""
    pad = 0.1 / drawing.get_figheight()
    ticks = MaxNLocator(
        6 if drawing.get_figwidth() > 6 else 3, steps=[1, 2, 5, 10]
    )  # labels of a narrow figure would run into one another
    drawing.colorbar(image, ax=axes, location="top", shrink=0.6, aspect=35, pad=pad, label=label, ticks=ticks)
