"""Means of scores over tasks, over categories, and by model size (Figures 6, 8 and 7)."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.tables.cells import (
    cells,
    mean_of,
    not_scored,
    on_one_scale,
    printed_key,
    printed_scores,
)
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORIES, TASKS, family_and_size
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, make_table, row
from biasatlas.columns import TABLE_COLUMNS


@table("category_means")
def category_means(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 6: mean over tasks, by category: those a model has ("available"), and those all of them have ("common").

    Models behind an API have no PC, where others score 80 to 96, so their available means are not comparable.
    ``published`` is the mean of the printed scores of the same tasks, where all of them are printed. ``n`` counts item
    scores.
    """
    return _means(on_one_scale(scores, options), published, published_as, over="task", by="category")


@table("task_means")
def task_means(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 8: mean over categories (each counts the same), by task; over available and over common categories."""
    return _means(on_one_scale(scores, options), published, published_as, over="category", by="task")


@table("sizes")
def sizes(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 7: mean over tasks, by category, of the models of one family, by size in billions of parameters.

    Over the tasks that all of the family have. Family and size are read from the published name, or the model's own
    ("Qwen2.5-7B-Instruct"); a family needs two sizes. No such family: no rows.
    """
    return _by_size(on_one_scale(scores, options), published, published_as, over="task", by="category")


@table("task_sizes")
def task_sizes(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Section 5.2: mean over categories, by task, of the models of one family, by size; as :func:`sizes`."""
    return _by_size(on_one_scale(scores, options), published, published_as, over="category", by="task")


def _by_size(
    scores: pd.DataFrame, published: Published, published_as: dict[str, str], over: str, by: str
) -> pd.DataFrame:
    columns = ["family", "size_billion", "model", by, {"task": "tasks", "category": "categories"}[over]]
    found = {
        model: family_and_size(published_as.get(model, model)) for model in scores["model"].drop_duplicates().tolist()
    }
    sized = {model: family for model, family in found.items() if family}
    parts = []
    for name in dict.fromkeys(family for family, _ in sized.values()):
        members = {model: size for model, (family, size) in sized.items() if family == name}
        if len(set(members.values())) > 1:
            means = _means(scores[scores["model"].isin(members)], published, published_as, over, by)
            means = means[means["average"] == "common"].drop(columns="average")
            parts.append(means.assign(family=name, size_billion=means["model"].map(members)))
    if not parts:
        return make_table(columns, [])
    table = pd.concat(parts).sort_values(["family", by, "size_billion"], kind="stable", ignore_index=True)
    return table[[*columns, *TABLE_COLUMNS]]


@metric("mean_score")
def mean_score(parts: Sequence[pd.Series]) -> Estimate:
    """Mean of the mean scores (0 to 100) of ``parts``, each the scores of a cell by item; every part counts the same."""
    return mean_of(parts)


def _means(
    scores: pd.DataFrame, published: Published, published_as: dict[str, str], over: str, by: str
) -> pd.DataFrame:
    """Means over the tasks of a category, or over the categories of a task: a row per model, group and average."""
    listed = {"task": "tasks", "category": "categories"}[over]
    printed = printed_scores(published)
    parts = {}
    for key, cell, items in cells(scores):
        model, category, task = key
        names = {"category": category, "task": task}
        number = printed.get(printed_key(key, published_as), np.nan)
        parts[model, names[by], names[over]] = items, not_scored(cell, items), number

    rows = []
    for model, group, average, names in _averages(list(parts), CATEGORIES if by == "category" else TASKS):
        items, counts, numbers = zip(*(parts[model, group, name] for name in names), strict=True)
        keys = {"model": model, by: group, "average": average, listed: " ".join(names)}
        in_print = f"{np.mean(numbers):.2f}" if np.isfinite(numbers).all() else None
        together = replace(sum(counts, Counts()), unread=float(np.mean([part.unread for part in counts])))
        rows.append(row(keys, "mean_score", mean_score(items), together, in_print))
    return make_table(("model", by, "average", listed), rows)


def _averages(keys: list[tuple[str, str, str]], groups: Sequence[str]) -> Iterator[tuple[str, str, str, list[str]]]:
    """(model, group, average, names of what it is over) from the (model, group, name) that there are.

    "available" is over all that the model has, "common" over those that all models with the group have; one over none is
    left out.
    """
    models = list(dict.fromkeys(model for model, _, _ in keys))
    there = set(keys)
    asked = {group: {model for model, of_group, _ in keys if of_group == group} for group in groups}
    for model, group in itertools.product(models, groups):
        available = [name for of_model, of_group, name in keys if (of_model, of_group) == (model, group)]
        common = [name for name in available if all((other, group, name) in there for other in asked[group])]
        for average, names in (("available", available), ("common", common)):
            if names:
                yield model, group, average, names
