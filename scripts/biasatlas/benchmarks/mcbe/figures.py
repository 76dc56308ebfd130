"""McBE's figures, drawn from its tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from wordcloud import WordCloud

from biasatlas.benchmarks.contract import figure
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORIES, CATEGORY_NAMES, TASKS
from biasatlas.benchmarks.shared.palette import Look, Looks
from biasatlas.benchmarks.shared.plots import dot_intervals, empty_figure
from biasatlas.benchmarks.shared.style import CJK_FONT

Tables = Mapping[str, pd.DataFrame]

#: Panels of a row, in figures with a panel per category or model family.
_COLUMNS = 4
#: Colours and markers of the references beside SS scores: those of no model.
_REFERENCES = {
    "coin_flip_score": ("coin flip", Look("0.5", "P")),
    "fixed_ranking_score": ("fixed ranking", Look("0.5", "v")),
}


@figure("composition")
def composition(tables: Tables, looks: Looks) -> Figure:
    """Figure 4: instances of each category, divided by subcategory."""
    table = tables["composition"]
    parts = table[table["subcategory"] != "all"]
    if parts.empty:
        return empty_figure("no instance was scored")
    categories = _in_order(parts["category"])
    chart = Figure(figsize=(10, 0.6 + 0.46 * len(categories)))
    axis = chart.subplots()
    largest = parts.groupby("category")["value"].sum().max()
    for y, category in enumerate(categories):
        rows, start = parts[parts["category"] == category], 0.0
        for number, (name, value) in enumerate(zip(rows["subcategory"], rows["value"], strict=True)):
            colour = colormaps["tab20"](number)
            axis.barh(y, value, left=start, color=colour, edgecolor="white", linewidth=0.5)
            # A name is drawn where it fits: about nine points a character, in a bar of this many.
            if value / largest * 620 > 9 * len(name):
                axis.text(start + value / 2, y, name, ha="center", va="center", fontsize=7, color=_readable_on(colour))
            start += value
        axis.text(start, y, f" {start:g}", va="center", fontsize=8)
    axis.set_yticks(range(len(categories)), [CATEGORY_NAMES[name] for name in categories])
    axis.set(xlabel="Instances, by subcategory", xlim=(0, largest * 1.06))
    axis.invert_yaxis()
    return chart


@figure("similarity")
def similarity(tables: Tables, looks: Looks) -> Figure:
    """Figure 5: mean Rouge-L between default sentences of two categories; on the diagonal within one."""
    table = tables["similarity"]
    if table["value"].isna().all():
        return empty_figure("there are no two sentences to compare")
    wide = table.pivot(index="category", columns="other_category", values="value")
    order = _in_order(wide.index)
    grid = wide.reindex(index=order, columns=order)
    grid = grid.combine_first(grid.T).loc[order, order].to_numpy()
    names = [CATEGORY_NAMES[name] for name in order]
    chart = Figure(figsize=(2.8 + 0.4 * len(order), 1.8 + 0.36 * len(order)))
    axis = chart.subplots()
    image = _heat_map(axis, grid, "{:.2f}", float(np.nanmax(grid)))
    axis.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axis.set_yticks(range(len(names)), names)
    chart.colorbar(image, ax=axis, label="Mean Rouge-L (0 to 1)")
    return chart


@figure("category_means")
def category_means(tables: Tables, looks: Looks) -> Figure:
    """Figure 6: mean over tasks by category and model, over the tasks that all of them have."""
    return _common_means(tables["category_means"], "category", looks)


@figure("task_means")
def task_means(tables: Tables, looks: Looks) -> Figure:
    """Figure 8: mean over categories by task and model, over the categories that all of them have."""
    return _common_means(tables["task_means"], "task", looks)


def _common_means(table: pd.DataFrame, by: str, looks: Looks) -> Figure:
    over, order = {"category": ("tasks", CATEGORIES), "task": ("categories", TASKS)}[by]
    return dot_intervals(
        table[table["average"] == "common"],
        by,
        looks,
        label=f"Mean over common {over} (0 to 100)",
        order=order,
        names=CATEGORY_NAMES,
        limits=(0, 100),
        empty=f"the models have no {by} with {over} in common",
    )


@figure("sizes")
def sizes(tables: Tables, looks: Looks) -> Figure:
    """Figure 7: score by model size, a line per task, a panel per model family."""
    table = tables["sizes"]
    if table["value"].isna().all():
        return empty_figure("no two models of one family in different sizes have scores")
    families = list(table["family"].unique())
    grid_rows = -(-len(families) // _COLUMNS)
    columns = -(-len(families) // grid_rows)
    chart = Figure(figsize=(0.9 + 3.6 * columns, 3.2 * grid_rows))
    axes = chart.subplots(grid_rows, columns, sharey=True, squeeze=False).ravel()
    for axis, family in zip(axes, families, strict=False):
        _draw_sizes(axis, table[table["family"] == family])
        axis.set_title(family)
    numbers = table[["value", "ci_low", "ci_high"]].to_numpy()
    axes[0].set_ylim(min(0, np.nanmin(numbers)) - 5, max(100, np.nanmax(numbers)) + 5)
    for axis in axes[len(families) :]:
        axis.remove()
    for axis in axes[::columns]:
        axis.set_ylabel("Score (0 to 100)")
    chart.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return chart


def _draw_sizes(axis: Axes, table: pd.DataFrame) -> None:
    """A line per task over the sizes of one family."""
    # Not the palette's colours, which stand for models.
    shades = colormaps["viridis"].resampled(len(TASKS) + 1)
    colours = {task: shades(position) for position, task in enumerate(TASKS)}
    for task in [task for task in TASKS if task in set(table["task"])]:
        rows, colour = table[table["task"] == task].sort_values("size_billion"), colours[task]
        axis.plot(rows["size_billion"], rows["value"], "o-", color=colour, markersize=4.5, label=task)
        axis.fill_between(rows["size_billion"], rows["ci_low"], rows["ci_high"], color=colour, alpha=0.15)
    ticks = sorted(table["size_billion"].unique())
    axis.set(xscale="log", xlabel="Parameters (billions)")
    axis.set_xticks(ticks, [f"{size:g}" for size in ticks], rotation=60 if len(ticks) > 4 else 0)
    axis.minorticks_off()
    axis.grid(axis="y", color="0.92")


@figure("word_clouds")
def word_clouds(tables: Tables, looks: Looks) -> Figure:
    """Figure 9: the frequent words of each category, larger where more frequent."""
    table = tables["words"]
    categories = _in_order(table["category"])
    if not categories:
        return empty_figure("no sentence was scored")
    grid_rows = -(-len(categories) // _COLUMNS)
    chart = Figure(figsize=(10, 2.1 * grid_rows))
    axes = chart.subplots(grid_rows, _COLUMNS, squeeze=False).ravel()
    for axis in axes:
        axis.axis("off")
    for axis, category in zip(axes, categories, strict=False):
        rows = table[table["category"] == category]
        cloud = WordCloud(
            font_path=str(CJK_FONT), width=480, height=320, background_color="white", random_state=0, colormap="viridis"
        )
        axis.imshow(cloud.generate_from_frequencies(dict(zip(rows["word"], rows["value"], strict=True))))
        axis.set_title(CATEGORY_NAMES[category])
    return chart


@figure("scores")
def scores(tables: Tables, looks: Looks) -> Figure:
    """Figures 10 and 11: every score, a panel per task, models by categories."""
    table = tables["scores"]
    table = table[table["metric"] == "score"]
    if table["value"].isna().all():
        return empty_figure("no model has a score")
    models = [model for model in looks if model in set(table["model"])]
    tasks = [task for task in TASKS if task in set(table["task"])]
    order = _in_order(table["category"])
    line = float(np.clip(13 / len(tasks) / len(models), 0.14, 0.3))  # inches a model
    width = max(5.0, 1.6 + 0.07 * max(map(len, models)) + 0.5 * len(order))
    chart = Figure(figsize=(width, len(tasks) * (0.4 + line * len(models)) + 1.2))
    axes = chart.subplots(len(tasks), 1, sharex=True, squeeze=False)[:, 0]
    for axis, task in zip(axes, tasks, strict=True):
        values = table[table["task"] == task].pivot(index="model", columns="category", values="value")
        grid = values.reindex(index=models, columns=order).to_numpy(float)
        image = _heat_map(axis, grid, "{:.1f}", 100, fontsize=min(7, 42 * line))
        axis.set_yticks(range(len(models)), models, fontsize=min(9, 48 * line))
        axis.set_title(task, loc="left")
    axes[-1].set_xticks(range(len(order)), [CATEGORY_NAMES[name] for name in order], rotation=35, ha="right")
    chart.colorbar(image, ax=axes, label="Score (0 to 100)", shrink=0.6, aspect=30)
    return chart


@figure("scenario_selection")
def scenario_selection(tables: Tables, looks: Looks) -> Figure:
    """SS beside what a coin and a ranking score, and the percentage of answers A: position bias raises the score, too.

    The references are of the lists of the first model; both answer A half of the time, since both orders are asked.
    """
    table = tables["scores"]
    table = table[table["task"] == "SS"]
    drawn = table[table["metric"].isin(["score", "a_share"])]
    shares = drawn["metric"] == "a_share"
    numbers = ["value", "ci_low", "ci_high"]
    drawn = drawn.assign(**{name: drawn[name].where(~shares, 100 * drawn[name]) for name in numbers})
    parts = [drawn]
    for metric, (name, _) in _REFERENCES.items():
        reference = table[(table["metric"] == metric) & table["value"].notna()]
        reference = reference.drop_duplicates("category")[["category", "value"]]
        parts += [
            reference.assign(model=name, metric="score"),
            reference.assign(model=name, metric="a_share", value=50),
        ]
    return dot_intervals(
        pd.concat(parts) if drawn["value"].notna().any() else drawn,
        "category",
        {**looks, **dict(_REFERENCES.values())},
        label="SS score (0 to 100), share of A among answers (%)",
        order=CATEGORIES,
        names={**CATEGORY_NAMES, "score": "SS score", "a_share": "Answers A"},
        panels="metric",
        limits=(0, 100),
        empty="no model has a score in the task SS",
    )


def _in_order(categories: pd.Series | pd.Index) -> list[str]:
    """Those of ``categories`` that there are, in the paper's order."""
    return [name for name in CATEGORIES if name in set(categories)]


def _heat_map(axis: Axes, grid: np.ndarray, form: str, top: float, fontsize: float = 7) -> AxesImage:
    """Draw a grid of values from 0 to ``top`` with its numbers; what does not apply or has no value stays empty."""
    image = axis.imshow(grid, cmap="viridis", vmin=0, vmax=top, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            colour = _readable_on(image.to_rgba(value))
            axis.text(column, row, form.format(value), ha="center", va="center", fontsize=fontsize, color=colour)
    axis.spines[:].set_visible(False)
    return image


def _readable_on(colour: Sequence[float]) -> str:
    """White on a dark ``colour`` (RGBA, 0 to 1), black on a light one, by its luminance."""
    return "w" if np.dot(colour[:3], (0.2126, 0.7152, 0.0722)) < 0.5 else "k"
