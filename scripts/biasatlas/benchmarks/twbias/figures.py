"""TWBias's figures, drawn from its tables."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biasatlas.benchmarks.twbias import ETHNIC_GROUPS, GENDERS, GROUP_NAMES, PROMPT_TYPES

#: The colours of Okabe and Ito, which colour-blind readers can tell apart: one per model, then again from the first.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LEAST_P_VALUE = 1e-300  # a smaller one, or a 0 from underflow, has no place on a logarithmic axis
_PAPER_TYPES = ("0", "00", *map(str, range(1, 11)))


def p_values_by_prompt(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 2: p-value of each gender direction's test by prompt type, a line per model, with the 0.05 line."""
    table = tables["prompts"]
    table = table[(table["metric"] == "p_value") & table["target_group"].isin(GENDERS)]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("no sentences about gender were scored")
    figure = Figure(figsize=(8.4, 3.4))
    axes = figure.subplots(1, len(GENDERS), sharey=True)
    positions = np.arange(len(PROMPT_TYPES))
    for axis, group in zip(axes, GENDERS, strict=True):
        axis.axhspan(_LEAST_P_VALUE / 10, 0.05, color="0.94", zorder=0)
        axis.axhline(0.05, color="0.5", linewidth=0.8)
        for colour, (model, rows) in _by_model(table[table["target_group"] == group]):
            p_values = rows.set_index("prompt_type")["value"].reindex(list(PROMPT_TYPES)).clip(lower=_LEAST_P_VALUE)
            # Types without a user prompt stand apart: they do not enter the bias ratio, so no line joins them.
            axis.plot(positions[2:], p_values.iloc[2:], color=colour, linewidth=0.8, alpha=0.6)
            axis.plot(positions, p_values, "o", color=colour, markersize=4.5, label=model)
        axis.axvline(1.5, color="0.8", linewidth=0.8, linestyle=":")
        axis.set(
            title=f"{GROUP_NAMES[group]} sentences", xlabel="Prompt type (0: no template, 00: no prompt)", yscale="log"
        )
        axis.set_xticks(positions, _PAPER_TYPES)
    axes[0].set(ylabel="p-value of the swap", ylim=(table["value"].clip(lower=_LEAST_P_VALUE).min() / 3, 2))
    # In the corner that points seldom reach: below the line they would cover it.
    axes[0].text(0.98, 0.03, "shaded: p < 0.05", transform=axes[0].transAxes, ha="right", fontsize=7, color="0.4")
    _legend(figure, axes)
    return figure


def gender_attributes(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 3: effect size of the gender swaps by attribute category, over all ten prompts, with its interval.

    A filled marker has at least one significant prompt. Categories too small to be tested keep their place, empty.
    """
    table = tables["attributes"]
    table = table[table["target_group"].isin(GENDERS)]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("no sentences about gender were scored, or every attribute category is too small")
    categories = {group: _categories(table, group) for group in GENDERS}
    height = 1.4 + 0.3 * max(map(len, categories.values()))
    figure = Figure(figsize=(9.6, height))
    axes = figure.subplots(1, len(GENDERS), sharex=True)
    for axis, group in zip(axes, GENDERS, strict=True):
        mine = table[table["target_group"] == group]
        positions = pd.Series(np.arange(len(categories[group])), index=list(categories[group]))
        models = list(_by_model(mine))
        for number, (colour, (model, rows)) in enumerate(models):
            effects = rows[rows["metric"] == "effect_size_all_prompts"].set_index("attribute_category")
            ratios = rows[rows["metric"] == "bias_ratio"].set_index("attribute_category")["value"]
            y = positions[effects.index] + (number - (len(models) - 1) / 2) * 0.6 / len(models)
            axis.hlines(y, effects["ci_low"], effects["ci_high"], color=colour, linewidth=1.2)
            filled = (ratios.reindex(effects.index) > 0).to_numpy()
            axis.plot(effects["value"][filled], y[filled], "o", color=colour, markersize=5, label=model)
            axis.plot(effects["value"][~filled], y[~filled], "o", color=colour, markersize=5, markerfacecolor="white")
        axis.axvline(0, color="0.5", linewidth=0.8)
        axis.set(title=f"{GROUP_NAMES[group]} sentences", xlabel="Effect size of the swap, all prompts", axisbelow=True)
        axis.set_yticks(positions, [f"{name} ({n})" for name, n in categories[group].items()])
        axis.invert_yaxis()
        axis.grid(axis="y", color="0.92", linewidth=0.8)
        axis.tick_params(axis="y", length=0)
    _legend(figure, axes, "  (hollow: no prompt significant)")
    return figure


def ethnic_grid(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 5: effect size (colour, upper number) and bias ratio (lower number) of each ethnic direction, by model."""
    table = tables["ethnicity"]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("no sentences about ethnic groups were scored")
    models = list(table["model"].unique())
    columns = (*ETHNIC_GROUPS, "han")
    figure = Figure(figsize=(1.6 + 3.9 * len(models), 3.5))
    axes = figure.subplots(1, len(models), sharey=True, squeeze=False)
    limit = _limit(table.loc[table["metric"] == "effect_size", "value"])
    for axis, model in zip(axes[0], models, strict=True):
        rows = table[table["model"] == model]
        grids = {
            metric: rows[rows["metric"] == metric]
            .pivot(index="target_group", columns="reference_group", values="value")
            .reindex(index=list(ETHNIC_GROUPS), columns=list(columns))
            .to_numpy(float)
            for metric in ("effect_size", "bias_ratio")
        }
        labels = [
            [f"{effect:+.2f}\n{ratio:.1f}" if np.isfinite(effect) else "" for effect, ratio in zip(*lines, strict=True)]
            for lines in zip(grids["effect_size"], grids["bias_ratio"], strict=True)
        ]
        image = _heat(axis, grids["effect_size"], labels, limit)
        axis.set_xticks(range(len(columns)), [_short(group) for group in columns], fontsize=8)
        axis.set_yticks(range(len(ETHNIC_GROUPS)), [_short(group) for group in ETHNIC_GROUPS])
        axis.set(title=model, xlabel="Swapped for")
    axes[0, 0].set_ylabel("Sentences about")
    figure.colorbar(image, ax=axes, shrink=0.8, label="Effect size")
    figure.suptitle("Effect size, and share of significant prompts below it", fontsize=9)
    return figure


def ethnic_attributes(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 6: effect size over all ten prompts, by target group, attribute category, reference group and model.

    Bold where at least half of the prompts are significant; empty where a category is too small to be tested.
    """
    table = tables["attributes"]
    table = table[table["target_group"].isin(ETHNIC_GROUPS)]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw(
            "no sentences about ethnic groups were scored, or every attribute category is too small"
        )
    models = list(table["model"].unique())
    categories = {group: _categories(table, group) for group in ETHNIC_GROUPS if (table["target_group"] == group).any()}
    sizes = [len(names) for names in categories.values()]
    figure = Figure(figsize=(2.6 + 3.0 * len(models), 1.2 + 0.55 * len(sizes) + 0.24 * sum(sizes)))
    axes = figure.subplots(len(sizes), len(models), height_ratios=sizes, squeeze=False)
    for axis, model in zip(axes[0], models, strict=True):
        axis.set_title(model)
    limit = _limit(table.loc[table["metric"] == "effect_size_all_prompts", "value"])
    for (group, names), line in zip(categories.items(), axes, strict=True):
        references = [reference for reference in (*ETHNIC_GROUPS, "han") if reference != group]
        for axis, model in zip(line, models, strict=True):
            rows = table[(table["model"] == model) & (table["target_group"] == group)]
            effects, ratios = (
                rows[rows["metric"] == metric]
                .pivot(index="attribute_category", columns="reference_group", values="value")
                .reindex(index=list(names), columns=references)
                .to_numpy(float)
                for metric in ("effect_size_all_prompts", "bias_ratio")
            )
            labels = [[f"{value:+.2f}" if np.isfinite(value) else "" for value in values] for values in effects]
            image = _heat(axis, effects, labels, limit, bold=ratios >= 0.5)
            axis.set_xticks(range(len(references)), [_short(reference) for reference in references], fontsize=7)
            shown = [f"{name} ({n})" for name, n in names.items()] if axis is line[0] else [""] * len(names)
            axis.set_yticks(range(len(names)), shown, fontsize=8)
        line[0].set_ylabel(GROUP_NAMES[group].replace(" ", "\n"), fontweight="bold")
    figure.align_ylabels(axes[:, 0])
    figure.colorbar(image, ax=axes, shrink=0.4, label="Effect size, all prompts")
    figure.supxlabel("Swapped for (bold: at least half of the prompts significant)", fontsize=8)
    return figure


def _by_model(table: pd.DataFrame) -> zip:
    """(colour, (model, rows)) for each model, in the table's order."""
    models = table["model"].unique()
    colours = (_COLOURS[number % len(_COLOURS)] for number in range(len(models)))
    return zip(colours, table.groupby("model", sort=False), strict=True)


def _categories(table: pd.DataFrame, group: str) -> dict[str, int]:
    """Attribute category -> its largest n, largest first."""
    return (
        table[table["target_group"] == group]
        .groupby("attribute_category")["n"]
        .max()
        .sort_values(ascending=False, kind="stable")
        .to_dict()
    )


def _short(group: str) -> str:
    return GROUP_NAMES[group].removesuffix(" Peoples")


def _limit(values: pd.Series) -> float:
    """The end of a colour scale around 0."""
    return max(0.1, float(np.nanmax(np.abs(values))))


def _heat(axis, values: np.ndarray, labels: list[list[str]], limit: float, bold: np.ndarray | None = None):
    """A grid of cells coloured on a diverging scale around 0; missing cells are grey."""
    axis.set_facecolor("0.93")
    image = axis.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    for row, column in np.ndindex(values.shape):
        axis.text(
            column,
            row,
            labels[row][column],
            ha="center",
            va="center",
            fontsize=7,
            fontweight="bold" if bold is not None and bold[row, column] else "normal",
            color="white" if abs(values[row, column]) > 0.65 * limit else "black",
        )
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return image


def _legend(figure: Figure, axes: np.ndarray, note: str = "") -> None:
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=max(len(labels), 1), title=note.strip() or None)


def _nothing_to_draw(reason: str) -> Figure:
    figure = Figure(figsize=(6, 1))
    figure.text(0.5, 0.5, f"Nothing to draw: {reason}.", ha="center", va="center")
    return figure


FIGURES = {
    "p_values_by_prompt": p_values_by_prompt,
    "gender_attributes": gender_attributes,
    "ethnic_grid": ethnic_grid,
    "ethnic_attributes": ethnic_attributes,
}
