"""Cells, the scores of one model in one category of one task, and intervals of their means."""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pandas as pd

from biasatlas.benchmarks.mcbe.vocabulary import CATEGORIES, CATEGORY_NAMES, TASKS
from biasatlas.benchmarks.shared.estimates import Counts, Published
from biasatlas.stats.intervals import MIN_UNITS, percentile, resample_counts

#: (model, category, task)
Key = tuple[str, str, str]


def cells(scores: pd.DataFrame) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Each cell's key and rows of ``scores``, original prompts only; categories and tasks in the paper's order."""
    original = scores[scores["prompt_set"] == "original"]
    groups = dict(list(original.groupby(["model", "category", "task"], sort=False)))
    for key in itertools.product(original["model"].unique(), CATEGORIES, TASKS):
        if key in groups:
            yield key, groups[key]


def item_scores(cell: pd.DataFrame) -> pd.Series:
    """Scores of a cell's items, 0 to 100, each the mean over the repeats that have one; items without are left out."""
    return cell.groupby("item_id", sort=False)["score"].mean().dropna()


def not_scored(cell: pd.DataFrame, items: pd.Series) -> Counts:
    """The items of ``cell`` that are not among the scored ``items``, by the status of their first repeat."""
    return Counts.of(cell[~cell["item_id"].isin(items.index)].drop_duplicates("item_id")["status"])


def printed_scores(published: Published) -> pd.Series:
    """The scores in print by the names of category, task and model in print; missing where one cannot be read."""
    table = published("mcbe_scores").astype({"score": float})
    return table.set_index(["category", "task", "model"])["score"]


def printed_key(key: Key, published_as: dict[str, str]) -> tuple[str, str, str | None]:
    """The index in :func:`printed_scores` of a cell of ours; it is not there where no such model is published."""
    model, category, task = key
    return CATEGORY_NAMES[category], task, published_as.get(model)


def interval_of_mean(parts: Sequence[pd.Series], shared: bool) -> tuple[float, float]:
    """Bootstrap interval of the mean of the means of ``parts``, scores by item; missing below MIN_UNITS items.

    ``shared``: the parts are scores of the same items, which are then resampled together.
    """
    items = len(pd.concat(parts).index.unique()) if parts else 0
    if items < MIN_UNITS or not all(len(part) for part in parts):
        return np.nan, np.nan
    if shared:
        means = _resampled_means(pd.concat(parts, axis=1).to_numpy(), 0)
    else:
        means = np.hstack([_resampled_means(part.to_numpy()[:, None], seed) for seed, part in enumerate(parts)])
    low, high = percentile(means.mean(axis=1))
    return low, high


def _resampled_means(values: np.ndarray, seed: int) -> np.ndarray:
    """Means of the columns of ``values`` (items, columns), missing ones left out, in each resample of the items."""
    counts = _resample_counts(len(values), seed)
    with np.errstate(invalid="ignore"):
        return counts @ np.nan_to_num(values) / (counts @ np.isfinite(values))


@cache  # all models have the same items, and drawing the resamples takes longer than using them
def _resample_counts(items: int, seed: int) -> np.ndarray:
    return resample_counts(items, seed=seed)
