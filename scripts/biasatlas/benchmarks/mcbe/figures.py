"""McBE's figures, drawn from its tables."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import get_font
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from wordcloud import WordCloud

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.mcbe import CATEGORIES, CATEGORY_NAMES, TASKS
from biasatlas.benchmarks.shared.plots import CJK_FONT, dot_intervals, empty_figure, panel_grid
from biasatlas.benchmarks.shared.styles import Style, Styles

#: Characters that :data:`CJK_FONT` can draw.
_FONT_HAS = frozenset(map(chr, get_font(CJK_FONT).get_charmap()))

#: Panels in a row: in figures with a panel per category, and in the one whose panels have long names.
_COLUMNS, _PANELS = 4, 3
#: A score stands in brackets if more than this percentage of replies could not be read.
_MOST = 50
#: The paper says of its Figure 5 that most sentences are below this.
_LOW = 0.2
#: Names, colours and markers of the references beside SS scores; no model has these.
_REFERENCES = {
    "coin_flip_score": ("coin flip", Style("0.5", "P")),
    "fixed_ranking_score": ("fixed ranking", Style("0.5", "v")),
}


@figure("composition")
def composition(step: Step) -> Figure:
    """Figure 4: a panel per category with its share of the instances, a bar per subcategory."""
    table = step.tables["composition"]
    parts = table[table["subcategory"] != "all"]
    if parts.empty:
        return empty_figure("no instance was scored")
    categories, total = _in_order(parts["category"]), parts["value"].sum()
    rows = [categories[start : start + _PANELS] for start in range(0, len(categories), _PANELS)]
    bars = [max((parts["category"] == name).sum() for name in names) for names in rows]
    chart = Figure(figsize=(max(5.8, 4.2 * min(_PANELS, len(categories))), 0.6 * len(rows) + 0.19 * sum(bars) + 0.4))
    grid = chart.subplots(len(rows), len(rows[0]), sharex=True, squeeze=False, height_ratios=bars)
    for axis in grid.ravel()[len(categories) :]:
        axis.remove()
    for axis, category, length in zip(grid.ravel(), categories, np.repeat(bars, len(rows[0])), strict=False):
        subcategories = parts[parts["category"] == category].sort_values("value", ascending=False, kind="stable")
        count = subcategories["value"].sum()
        bar = axis.barh(range(len(subcategories)), subcategories["value"], color="0.6", height=0.75)
        axis.bar_label(bar, fmt="%g", padding=2, fontsize=7)
        axis.set_yticks(range(len(subcategories)), subcategories["subcategory"], fontsize=8)
        axis.set_ylim(length - 0.5, -0.5)
        axis.set_title(f"{CATEGORY_NAMES[category]}: {count:g} ({count / total:.1%})", loc="left")
        axis.tick_params(axis="y", length=0)
    grid[0, 0].set_xlim(0, 1.12 * parts["value"].max())
    grid[0, 0].xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    chart.supxlabel("Instances of a subcategory; beside the category's name their sum and its share", fontsize="medium")
    return chart


@figure("similarity")
def similarity(step: Step) -> Figure:
    """Figure 5: share of default sentences by mean Rouge-L with all others: all, and each category as a thin line."""
    table = step.tables["similarity"]
    shares = table[table["metric"] == "rouge_l_share"]
    if shares["value"].isna().all():
        return empty_figure("there are no two sentences to compare")
    chart = Figure(figsize=(7, 3.6))
    axis = chart.subplots()
    for category, rows in shares.groupby("category", sort=False):
        edges = [*rows["low"], rows["high"].iloc[-1]]
        if category == "all":
            axis.stairs(rows["value"], edges, fill=True, color="0.75", label="all sentences")
            below = rows.loc[rows["high"] <= _LOW + 1e-9, "value"].sum()
        else:
            axis.stairs(rows["value"], edges, color="0.35", linewidth=0.5, label="a category")
    axis.axvline(_LOW, color="k", linewidth=0.8, linestyle="--")
    axis.set_title(f"{below:.1%} of the sentences are below {_LOW:g}", loc="left")
    axis.set(xlabel="Mean Rouge-L with all other default sentences (0 to 1)", ylabel="Share of sentences")
    handles, names = axis.get_legend_handles_labels()
    named = dict(zip(names, handles, strict=True))
    axis.legend(named.values(), named.keys())
    return chart


@figure("category_means")
def category_means(step: Step) -> Figure:
    """Figure 6: mean over tasks by category and model: over the tasks that each has, and over those that all have."""
    return _means(step.tables["category_means"], "category", step.styles)


@figure("task_means")
def task_means(step: Step) -> Figure:
    """Figure 8: mean over categories by task and model; a model without a task is a gap."""
    return _means(step.tables["task_means"], "task", step.styles)


def _means(table: pd.DataFrame, by: str, styles: Styles) -> Figure:
    over, order = {"category": ("tasks", CATEGORIES), "task": ("categories", TASKS)}[by]
    averages = {"available": f"{over.capitalize()} that a model has", "common": f"{over.capitalize()} that all have"}
    if table.groupby(["model", by])[over].nunique().max() < 2:  # all models have the same: one panel says it
        table = table[table["average"] == "available"]
    return dot_intervals(
        table,
        by,
        styles,
        label=f"Mean over {over} (0 to 100; right: less bias), 95% interval",
        order=order,
        names={**CATEGORY_NAMES, **averages},
        panels="average" if table["average"].nunique() > 1 else None,
        limits=(0, 100),
        empty=f"no model has a mean over {over}",
    )


@figure("sizes")
def sizes(step: Step) -> Figure:
    """Figure 7: mean over tasks by model size, a panel per category, a line per model family; a cross is published."""
    return _by_size(step.tables["sizes"], "category", CATEGORIES)


@figure("task_sizes")
def task_sizes(step: Step) -> Figure:
    """Mean over categories by model size, a panel per task; section 5.2 discusses SS and the others."""
    return _by_size(step.tables["task_sizes"], "task", TASKS)


def _by_size(table: pd.DataFrame, by: str, order: Sequence[str]) -> Figure:
    if table["value"].isna().all():
        return empty_figure("no two models of one family in different sizes have scores")
    panels = [name for name in order if name in set(table[by])]
    chart, axes = panel_grid(len(panels), 2.4, 2.0, _COLUMNS, sharex=True, sharey=True)
    families = list(table["family"].unique())
    # Not the colours of styles, which stand for models.
    shades = dict(zip(families, colormaps["viridis"](np.linspace(0, 0.85, len(families))), strict=True))
    for axis, name in zip(axes, panels, strict=False):
        for family, colour in shades.items():
            _draw_family(axis, table[(table[by] == name) & (table["family"] == family)], family, colour)
        axis.set_title(CATEGORY_NAMES.get(name, name), loc="left")
        axis.grid(axis="y", color="0.92")
    ticks = sorted(table["size_billion"].unique())
    axes[0].set(xscale="log")
    axes[0].set_xticks(ticks, [f"{size:g}" for size in ticks])
    axes[0].minorticks_off()
    for axis in axes:
        axis.tick_params(axis="x", rotation=60 if len(ticks) > 4 else 0)
    chart.supxlabel("Parameters (billions)", fontsize="medium")
    chart.supylabel("Mean score (0 to 100; up: less bias), 95% interval", fontsize="medium")
    named = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    chart.legend(named.values(), named.keys(), loc="outside upper center", ncols=min(4, len(named)))
    return chart


def _draw_family(axis: Axes, rows: pd.DataFrame, family: str, colour: np.ndarray) -> None:
    """The sizes of one family in one panel."""
    rows = rows.sort_values("size_billion")
    axis.plot(rows["size_billion"], rows["value"], "o-", color=colour, markersize=4.5, linewidth=1, label=family)
    axis.vlines(rows["size_billion"], rows["ci_low"], rows["ci_high"], color=colour)
    published = pd.to_numeric(rows["published"])
    if published.notna().any():
        axis.plot(rows["size_billion"], published, "x", color="0.2", markersize=5, label="published")


@figure("word_clouds")
def word_clouds(step: Step) -> Figure:
    """Figure 9: each category's frequent words, larger if more frequent; without those that the font cannot draw."""
    table = step.tables["words"]
    categories = _in_order(table["category"])
    if not categories:
        return empty_figure("no sentence was scored")
    columns = min(_COLUMNS, len(categories))
    grid_rows = -(-len(categories) // columns)
    chart = Figure(figsize=(2.5 * columns, 2.1 * grid_rows))
    axes = chart.subplots(grid_rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.axis("off")
    for axis, category in zip(axes, categories, strict=False):
        # A word with a character that the font lacks would be boxes.
        rows = table[(table["category"] == category) & table["word"].map(_FONT_HAS.issuperset)]
        cloud = WordCloud(
            font_path=str(CJK_FONT), width=480, height=320, background_color="white", random_state=0, colormap="viridis"
        )
        axis.imshow(cloud.generate_from_frequencies(dict(zip(rows["word"], rows["value"], strict=True))))
        axis.set_title(CATEGORY_NAMES[category])
    return chart


@figure("scores")
def scores(step: Step) -> Figure:
    """Figures 10 and 11: every score and half of its interval, a panel per task, models by categories.

    Where most replies could not be read a score stands in brackets: in SS it is 100 by the authors' rule.
    """
    table = step.tables["scores"]
    table = table[table["metric"] == "score"]
    if table["value"].isna().all():
        return empty_figure("no model has a score")
    models = [model for model in step.styles if model in set(table["model"])]
    tasks = [task for task in TASKS if task in set(table["task"])]
    order = _in_order(table["category"])
    line = float(np.clip(13 / len(tasks) / len(models), 0.14, 0.3))  # inches a model
    width = max(5.0, 1.6 + 0.07 * max(map(len, models)) + 0.62 * len(order))
    chart = Figure(figsize=(width, len(tasks) * (0.4 + line * len(models)) + 1.2))
    axes = chart.subplots(len(tasks), 1, sharex=True, squeeze=False)[:, 0]
    for axis, task in zip(axes, tasks, strict=True):
        rows = table[table["task"] == task]
        grid, low, high, unparsed = (
            rows.pivot(index="model", columns="category", values=name)
            .reindex(index=models, columns=order)
            .to_numpy(float)
            for name in ("value", "ci_low", "ci_high", "unparsed")
        )
        image = _heat_map(axis, grid, (high - low) / 2, unparsed > _MOST, fontsize=min(7, 42 * line))
        axis.set_yticks(range(len(models)), models, fontsize=min(9, 48 * line))
        axis.set_title(task, loc="left")
    axes[-1].set_xticks(range(len(order)), [CATEGORY_NAMES[name] for name in order], rotation=35, ha="right")
    chart.colorbar(
        image, ax=axes, label="Score (0 to 100; higher: less bias) ± half of its 95% interval", shrink=0.6, aspect=30
    )
    if (table["unparsed"] > _MOST).any():
        chart.supxlabel("In brackets: most replies could not be read", fontsize="medium")
    return chart


@figure("scenario_selection")
def scenario_selection(step: Step) -> Figure:
    """SS scores, those of a coin and a fixed ranking, and the percentage of answers A: position bias raises SS, too.

    References are for the first model's lists of words; they answer A half of the time, since both orders are asked.
    """
    table = step.tables["scores"]
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
        {**step.styles, **dict(_REFERENCES.values())},
        label="SS score (0 to 100; right: less bias), answers A (%)",
        order=CATEGORIES,
        names={**CATEGORY_NAMES, "score": "SS score", "a_share": "Answers A"},
        panels="metric",
        limits=(0, 100),
        empty="no model has a score in the task SS",
    )


def _in_order(categories: pd.Series | pd.Index) -> list[str]:
    """The distinct ``categories``, in the paper's order."""
    return [name for name in CATEGORIES if name in set(categories)]


def _heat_map(axis: Axes, grid: np.ndarray, margins: np.ndarray, doubtful: np.ndarray, fontsize: float) -> AxesImage:
    """Draw a grid of scores with their ``margins`` where they have any, in brackets where ``doubtful``.

    What does not apply or has no value stays empty.
    """
    image = axis.imshow(grid, cmap="viridis", vmin=0, vmax=100, aspect="auto")
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            colour = _readable_on(image.to_rgba(value))
            margin = margins[row, column]
            text = f"{value:.1f}±{margin:.1f}" if np.isfinite(margin) else f"{value:.1f}"
            text = f"({text})" if doubtful[row, column] else text
            axis.text(column, row, text, ha="center", va="center", fontsize=fontsize, color=colour)
    axis.spines[:].set_visible(False)
    return image


def _readable_on(colour: Sequence[float]) -> str:
    """White on a dark ``colour`` (RGBA, 0 to 1), black on a light one, by its luminance."""
    return "w" if np.dot(colour[:3], (0.2126, 0.7152, 0.0722)) < 0.5 else "k"
