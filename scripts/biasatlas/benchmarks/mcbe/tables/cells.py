"""Cells, the scores of one model in one category of one task, and intervals of their means."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks.mcbe.columns import DESIGN
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORIES, CATEGORY_NAMES, TASKS
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, unread
from biasatlas.stats.clusters import cluster_sums, ratio
from biasatlas.stats.jackknife import jackknife

#: What intervals are over: sentences, of which the data repeat some.
(TEMPLATE,) = DESIGN["template"].scores

#: Sum of the weights of BA's criteria (Table 5): 3.5 + 1.5 + 2.5 + 0.5.
WEIGHTS = 8.0

#: (model, category, task)
Key = tuple[str, str, str]


def cells(scores: pd.DataFrame) -> Iterator[tuple[Key, pd.DataFrame, pd.Series]]:
    """Each cell's key, its rows of ``scores`` and the scores of its items, of original prompts; in the paper's order.

    Scores are by template and item, 0 to 100, each the mean over the repeats that have one; items without are left out.
    """
    original = scores[scores["prompt_set"] == "original"]
    keys = ["model", "category", "task"]
    groups = dict(list(original.groupby(keys, sort=False)))
    # Over all cells at once: a table asks of hundreds, most of them small.
    means = original.groupby([*keys, TEMPLATE, "item_id"], sort=False)["score"].mean().dropna().reset_index(keys)
    items = dict(list(means.groupby(keys, sort=False)["score"]))
    for key in itertools.product(original["model"].unique(), CATEGORIES, TASKS):
        if key in groups:
            yield key, groups[key], items.get(key, means["score"].iloc[:0])


def on_one_scale(scores: pd.DataFrame, options: McBEOptions) -> pd.DataFrame:
    """``scores`` with BA from 0 to 100, as the other tasks are; equation 5's weighted mean ends at 12.5."""
    if options.ba_aggregate == "weighted_sum":
        return scores
    return scores.assign(score=scores["score"].where(scores["task"] != "BA", scores["score"] * WEIGHTS))


def not_scored(cell: pd.DataFrame, items: pd.Series) -> Counts:
    """The items of ``cell`` that are not among the scored ``items``, by the status of their first repeat."""
    if (cell["status"] == "ok").all():  # as in most cells
        return Counts(unread=unread(cell))
    unscored = cell[~cell["item_id"].isin(items.index.get_level_values("item_id"))].drop_duplicates("item_id")
    return replace(Counts.of(unscored), unread=unread(cell[cell["status"] != "not_applicable"]))


def printed_scores(published: Published) -> pd.Series:
    """The scores in print by the names of category, task and model in print; missing where one cannot be read."""
    table = published("mcbe_scores").astype({"score": float})
    return table.set_index(["category", "task", "model"])["score"]


def printed_key(key: Key, published_as: dict[str, str]) -> tuple[str, str, str | None]:
    """The index in :func:`printed_scores` of a cell of ours; it is not there where no such model is published."""
    model, category, task = key
    return CATEGORY_NAMES[category], task, published_as.get(model)


def mean_of(parts: Sequence[pd.Series]) -> Estimate:
    """The mean of the means of ``parts``, each the scores of a cell by template and item; every part counts the same.

    Over templates, which several parts may share: of one part CR2, of more a jackknife.
    """
    n = sum(map(len, parts))
    if not parts or not all(len(part) for part in parts):
        return Estimate(float(np.mean([part.mean() for part in parts])) if parts else np.nan, n=n)
    if len(parts) == 1:
        (part,) = parts
        bounds = (0.0, 100.0) if part.between(0, 100).all() else None
        return Estimate.of(ratio(part, np.ones(n), part.index.get_level_values(TEMPLATE), bounds), n)
    templates = np.concatenate([part.index.get_level_values(TEMPLATE) for part in parts])
    columns = np.zeros((n, 2 * len(parts)))
    for number, (start, part) in enumerate(zip(np.cumsum([0, *map(len, parts)]), parts, strict=False)):
        columns[start : start + len(part), 2 * number] = part
        columns[start : start + len(part), 2 * number + 1] = 1
    (inference,) = jackknife(_mean_of_means, cluster_sums(templates, *columns.T))
    return Estimate.of(inference, n)


def _mean_of_means(sums: np.ndarray) -> np.ndarray:
    """Mean over parts of sum / number, of ``sums`` (..., 2 parts)."""
    return (sums[..., ::2] / sums[..., 1::2]).mean(axis=-1)[..., None]
