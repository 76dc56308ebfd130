"""Do models differ? The Friedman test, and Nemenyi's comparison of every pair."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.tables.cells import cells, not_scored, on_one_scale
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, make_table, row


class Friedman(NamedTuple):
    """The test's statistic, chi-square distributed with one degree of freedom less than models, and its p-value."""

    chi_square: float
    p_value: float


@table("friedman")
def friedman(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Friedman's test over models, and Nemenyi's comparison of every pair, under two readings of the blocks.

    ``blocks``: "category means", over the tasks that a model has, a block per category (the reading nearest to the
    paper's 84.27); "category-by-task cells", a block per cell that all models have. Cells of one category share their
    instances, so the second overstates its evidence. ``n`` counts blocks, the columns of what has no value items by model and task.
    """
    found = {key: (items.mean(), not_scored(cell, items)) for key, cell, items in cells(on_one_scale(scores, options))}
    means = (
        pd.Series({key: mean for key, (mean, _) in found.items()}, dtype=float)
        .rename_axis(["model", "category", "task"])
        .unstack("model")
    )
    counts = sum((counts for _, counts in found.values()), Counts())
    readings = {
        "category means": means.groupby(level="category", sort=False).mean().dropna(),
        "category-by-task cells": means.dropna(),
    }
    rows = itertools.chain.from_iterable(_rows(name, blocks, counts) for name, blocks in readings.items())
    return make_table(("blocks", "model", "other_model"), rows)


def _rows(name: str, blocks: pd.DataFrame, counts: Counts) -> Iterator[dict]:
    """Rows of the reading ``name``, with ``blocks`` (blocks, models), and the ``counts`` of items without a score."""
    keys = {"blocks": name, "model": None, "other_model": None}
    n = len(blocks)
    test = friedman_test(blocks)
    yield row(keys, "friedman_chi_square", Estimate(test.chi_square, n=n), counts)
    yield row(keys, "friedman_p", Estimate(test.p_value, n=n), counts)
    for model, rank in mean_ranks(blocks).items():
        yield row(keys | {"model": model}, "mean_rank", Estimate(rank, n=n), counts)
    for (model, other), p_value in nemenyi(blocks).items():
        yield row(keys | {"model": model, "other_model": other}, "nemenyi_p", Estimate(p_value, n=n), counts)


@metric("friedman_chi_square", "friedman_p")
def friedman_test(blocks: pd.DataFrame) -> Friedman:
    """Friedman's chi-square and p-value of ``blocks`` (blocks, models); missing below three models or two blocks."""
    if not _enough(blocks):
        return Friedman(np.nan, np.nan)
    result = scipy.stats.friedmanchisquare(*blocks.to_numpy().T)
    return Friedman(result.statistic, result.pvalue)


@metric("mean_rank")
def mean_ranks(blocks: pd.DataFrame) -> dict[str, float]:
    """Mean rank of every model over ``blocks`` (blocks, models): 1 is the highest score; ties share their ranks."""
    if blocks.empty:
        return dict.fromkeys(blocks.columns, np.nan)
    ranks = scipy.stats.rankdata(-blocks.to_numpy(), axis=1).mean(axis=0)
    return dict(zip(blocks.columns, ranks, strict=True))


@metric("nemenyi_p")
def nemenyi(blocks: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Nemenyi's p-value of every pair of models, all pairs taken into account; none where the test cannot be made."""
    if not _enough(blocks):
        return {}
    from scikit_posthocs import posthoc_nemenyi_friedman  # takes a second, for this table alone

    p_values = posthoc_nemenyi_friedman(blocks.to_numpy()).to_numpy()
    pairs = itertools.combinations(range(blocks.shape[1]), 2)
    return {(blocks.columns[first], blocks.columns[second]): p_values[first, second] for first, second in pairs}


def _enough(blocks: pd.DataFrame) -> bool:
    return blocks.shape[1] >= 3 and len(blocks) >= 2
