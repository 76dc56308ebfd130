"""McBE's figures, drawn from its tables."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from wordcloud import WordCloud

from biasatlas.benchmarks.mcbe import CATEGORIES, CATEGORY_NAMES, TASKS

#: The colours of Okabe and Ito, which colour-blind readers can tell apart: one per model, then again from the first.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_FONT = Path(__file__).parents[4] / "resources/fonts/NotoSansCJKtc-Regular-subset.otf"


def composition(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 4: instances of each category, divided by subcategory."""
    table = tables["composition"]
    parts = table[table["subcategory"] != "all"]
    categories = [name for name in CATEGORIES if name in set(parts["category"])]
    figure = Figure(figsize=(10, 0.6 + 0.46 * len(categories)))
    axis = figure.subplots()
    most = parts.groupby("category")["value"].sum().max()
    for place, category in enumerate(categories):
        mine, start = parts[parts["category"] == category], 0.0
        for number, (name, value) in enumerate(zip(mine["subcategory"], mine["value"], strict=True)):
            axis.barh(place, value, left=start, color=colormaps["tab20"](number), edgecolor="white", linewidth=0.5)
            # A name is drawn where it fits: about nine points a character, in a bar of this many.
            if value / most * 620 > 9 * len(name):
                axis.text(start + value / 2, place, name, ha="center", va="center", fontsize=7)
            start += value
        axis.text(start, place, f" {start:g}", va="center", fontsize=8)
    axis.set_yticks(range(len(categories)), [CATEGORY_NAMES[name] for name in categories])
    axis.set(xlabel="Instances, by subcategory", xlim=(0, most * 1.06))
    axis.invert_yaxis()
    return figure


def similarity(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 5: mean Rouge-L between default sentences of two categories; on the diagonal within one."""
    table = tables["similarity"]
    wide = table.pivot(index="category", columns="other_category", values="value")
    order = [name for name in CATEGORIES if name in wide.index]
    grid = wide.reindex(index=order, columns=order)
    grid = grid.combine_first(grid.T).loc[order, order].to_numpy()
    names = [CATEGORY_NAMES[name] for name in order]
    figure = Figure(figsize=(2.8 + 0.4 * len(order), 1.8 + 0.36 * len(order)))
    axis = figure.subplots()
    image = _cells(axis, grid, "{:.2f}", 0, float(np.nanmax(grid)))
    axis.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axis.set_yticks(range(len(names)), names)
    figure.colorbar(image, ax=axis, label="Mean Rouge-L (0 to 1)")
    return figure


def category_means(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 6: mean over tasks by category, a marker per model, over the tasks that all of them have."""
    return _dots(tables["category_means"], "category", CATEGORIES, "Mean over common tasks (0 to 100)")


def task_means(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 8: mean over categories by task, a marker per model, over the categories that all of them have."""
    return _dots(tables["task_means"], "task", TASKS, "Mean over common categories (0 to 100)")


def sizes(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 7: score by model size, a line per task, a panel per model family."""
    table = tables["sizes"]
    families = list(table["family"].unique())
    if not families:
        return _nothing_to_draw("no two models of one family in different sizes were measured")
    figure = Figure(figsize=(4.8 * len(families), 3.6))
    axes = figure.subplots(1, len(families), sharey=True, squeeze=False)
    for axis, family in zip(axes[0], families, strict=True):
        mine = table[table["family"] == family]
        for colour, task in zip(_COLOURS, TASKS, strict=False):
            rows = mine[mine["task"] == task].sort_values("size_billion")
            if len(rows):
                axis.plot(rows["size_billion"], rows["value"], "o-", color=colour, markersize=4.5, label=task)
                axis.fill_between(rows["size_billion"], rows["ci_low"], rows["ci_high"], color=colour, alpha=0.15)
        labels = sorted(mine["size_billion"].unique())
        axis.set(title=family, xscale="log", xlabel="Parameters (billions)")
        axis.set_xticks(labels, [f"{label:g}" for label in labels])
        axis.minorticks_off()
    axes[0][0].set_ylabel("Score (0 to 100)")
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def word_clouds(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figure 9: the frequent words of each category, larger where more frequent."""
    table = tables["words"]
    categories = [name for name in CATEGORIES if name in set(table["category"])]
    rows = -(-len(categories) // 4)
    figure = Figure(figsize=(10, 2.1 * rows))
    axes = figure.subplots(rows, 4, squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, category in zip(axes.flat, categories, strict=False):
        mine = table[table["category"] == category]
        cloud = WordCloud(
            font_path=str(_FONT), width=480, height=320, background_color="white", random_state=0, colormap="viridis"
        )
        axis.imshow(cloud.generate_from_frequencies(dict(zip(mine["word"], mine["value"], strict=True))))
        axis.set_title(CATEGORY_NAMES[category])
    return figure


def scores(tables: dict[str, pd.DataFrame]) -> Figure:
    """Figures 10 and 11: every score, a panel per task, models by categories."""
    table = tables["scores"]
    table = table[table["metric"] == "score"]
    models = list(table["model"].unique())
    tasks = [task for task in TASKS if task in set(table["task"])]
    order = [name for name in CATEGORIES if name in set(table["category"])]
    figure = Figure(figsize=(3.6 + 0.5 * len(order), len(tasks) * (0.6 + 0.3 * len(models)) + 1.2))
    axes = figure.subplots(len(tasks), 1, sharex=True, squeeze=False)
    for axis, task in zip(axes[:, 0], tasks, strict=True):
        mine = table[table["task"] == task].pivot(index="model", columns="category", values="value")
        grid = mine.reindex(index=models, columns=order).to_numpy(float)
        image = _cells(axis, grid, "{:.1f}", 0, 100)
        axis.set_yticks(range(len(models)), models)
        axis.set_title(task, loc="left")
    axes[-1, 0].set_xticks(range(len(order)), [CATEGORY_NAMES[name] for name in order], rotation=35, ha="right")
    figure.colorbar(image, ax=axes[:, 0], label="Score (0 to 100)", shrink=0.5, aspect=30)
    return figure


def scenario_selection(tables: dict[str, pd.DataFrame]) -> Figure:
    """SS beside what a coin and a ranking score, and the share of answers A: position bias raises the score, too."""
    table = tables["scores"]
    table = table[table["task"] == "SS"]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("the task SS was not measured")
    categories = [name for name in CATEGORIES if name in set(table["category"])]
    models = list(table["model"].unique())
    figure = Figure(figsize=(9.6, 1.4 + 0.32 * len(categories)))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    places = pd.Series(range(len(categories)), index=categories)
    for number, model in enumerate(models):
        mine = table[table["model"] == model].set_index(["metric", "category"])
        offset = (number - (len(models) - 1) / 2) * 0.6 / len(models)
        colour = _COLOURS[number % len(_COLOURS)]
        for axis, metric in ((left, "score"), (right, "a_share")):
            rows = mine.loc[metric].reindex(categories)
            axis.hlines(places + offset, rows["ci_low"], rows["ci_high"], color=colour, linewidth=1.2)
            axis.plot(rows["value"], places + offset, "o", color=colour, markersize=4.5, label=model)
    first = table[table["model"] == models[0]].set_index(["metric", "category"])["value"]
    for metric, marker, label in (("coin_flip_score", "|", "a coin"), ("fixed_ranking_score", "x", "a fixed ranking")):
        left.plot(first[metric].reindex(categories), places, marker, color="0.3", markersize=9, label=label)
    right.axvline(0.5, color="0.5", linewidth=0.8)
    left.set(xlabel="SS score", xlim=(0, 103))
    right.set(xlabel="Share of answers A", xlim=(-0.03, 1.03))
    left.set_yticks(places, [CATEGORY_NAMES[name] for name in categories])
    left.invert_yaxis()
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _dots(table: pd.DataFrame, by: str, order: tuple[str, ...], label: str) -> Figure:
    table = table[table["average"] == "common"]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("the models measured have no task in common")
    groups = [name for name in order if name in set(table[by])]
    models = list(table["model"].unique())
    figure = Figure(figsize=(7.6, 1.4 + max(0.34, 0.07 * len(models)) * len(groups)))
    axis = figure.subplots()
    places = pd.Series(range(len(groups)), index=groups)
    for number, model in enumerate(models):
        rows = table[table["model"] == model].set_index(by).reindex(groups)
        y = places + (number - (len(models) - 1) / 2) * 0.7 / len(models)
        colour = _COLOURS[number % len(_COLOURS)]
        marker = "os^D"[number // len(_COLOURS) % 4]
        axis.hlines(y, rows["ci_low"], rows["ci_high"], color=colour, linewidth=1.2)
        axis.plot(rows["value"], y, marker, color=colour, markersize=4.5, label=model)
    axis.set_yticks(places, [CATEGORY_NAMES.get(name, name) for name in groups])
    axis.set(xlabel=label, axisbelow=True)
    axis.grid(axis="x", color="0.92")
    axis.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=min(4, len(models)))
    return figure


def _cells(axis: Axes, grid: np.ndarray, form: str, low: float, high: float):
    """Draw a grid with its numbers; what does not apply or was not computed stays empty."""
    image = axis.imshow(grid, cmap="viridis", vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            dark = value < (low + high) / 2
            axis.text(column, row, form.format(value), ha="center", va="center", fontsize=7, color="w" if dark else "k")
    axis.spines[:].set_visible(False)
    return image


def _nothing_to_draw(why: str) -> Figure:
    figure = Figure(figsize=(6, 1.2))
    axis = figure.subplots()
    axis.axis("off")
    axis.text(0.5, 0.5, f"Nothing to draw: {why}.", ha="center", va="center")
    return figure


FIGURES = {
    "composition": composition,
    "similarity": similarity,
    "category_means": category_means,
    "sizes": sizes,
    "task_means": task_means,
    "word_clouds": word_clouds,
    "scores": scores,
    "scenario_selection": scenario_selection,
}
