"""The scores of every model, category and task, and what stands behind them (Figures 10 and 11)."""

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.spread import SS_DECAY
from biasatlas.benchmarks.mcbe.tables.cells import TEMPLATE, cells, mean_of, not_scored, on_one_scale, printed_key
from biasatlas.benchmarks.shared.estimates import Estimate, Published, make_table, row
from biasatlas.benchmarks.shared.rates import percentage
from biasatlas.stats.clusters import proportion

_COIN_DRAWS = 20_000


@table("scores")
def scores_table(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figures 10 and 11: the score of every model, category and task, and what stands behind it.

    ``n`` counts items, in the rows of rates item by repeat. SS has three more rows: the share of answers A, and what a
    coin and a fixed ranking of the words score on the same lists under the same protocol: always A scores 100. BA is from 0 to
    100 as in print, also under equation 5, whose weighted mean ends at 12.5.
    """
    printed = published("mcbe_scores").set_index(["category", "task", "model"])
    rows = []
    for key, cell, items in cells(on_one_scale(scores, options)):
        model, category, task = key
        keys = {"model": model, "category": category, "task": task}
        in_print = printed_key(key, published_as)
        numbers = printed.loc[in_print] if in_print in printed.index else {}
        counts = not_scored(cell, items)
        spread = Estimate(sd_over_repeats(cell), n=len(items), no_interval="a spread of few repeats")
        rows.append(row(keys, "score", score(items, task), counts, numbers.get("score")))
        rows.append(row(keys, "sd_over_repeats", spread, counts, numbers.get("std")))
        rows += [row(keys, name, estimate) for name, estimate in rates(cell, task).items()]
        if task == "SS":
            rows += [row(keys, name, estimate) for name, estimate in _references(cell, options)]
    return make_table(("model", "category", "task"), rows)


@metric("score")
def score(items: pd.Series, task: str) -> Estimate:
    """Mean of the items' scores, 0 to 100 (BS as released may fall below), as Figures 10 and 11 have it.

    SC is a rate of right answers (or the mean of their probabilities), and has the interval of one.
    """
    if task == "SC":
        return percentage(items / 100, items.index.get_level_values(TEMPLATE).to_series(items.index))
    return mean_of([items])


@metric("sd_over_repeats")
def sd_over_repeats(cell: pd.DataFrame) -> float:
    """Sample standard deviation of the scores of repeated runs, in points; missing for a single run.

    The paper's ±, whose printed values repeat between models and are no tolerance.
    """
    runs = cell.groupby("repeat")["score"].mean()
    return runs.std(ddof=1) if len(runs) > 1 else np.nan


@metric("refusal_rate", "ambiguous_rate", "unparseable_rate", "unresolved_rate")
def rates(cell: pd.DataFrame, task: str) -> dict[str, Estimate]:
    """Percentage (0 to 100) of the applicable requests that were refused, could not be read, or were not resolved.

    The mean over items and repeats, each with the share of its own requests (or of their probability); ``n`` counts
    them. An item that was asked nothing is not in it: not applicable, or in SS a list of one word that scores 100.
    """
    asked = cell["status"] != "not_applicable"
    if task == "SS":
        asked &= cell["words"] > 1
    columns = {
        "refusal_rate": "refused",
        "ambiguous_rate": "ambiguous",
        "unparseable_rate": "unparseable",
        "unresolved_rate": "unresolved",
    }
    cell = cell.loc[asked, [*columns.values(), TEMPLATE]]
    return {name: percentage(cell[column], cell[TEMPLATE]) for name, column in columns.items()}


def _references(cell: pd.DataFrame, options: McBEOptions) -> Iterator[tuple[str, Estimate]]:
    """What an SS score has to be seen against, by metric."""
    yield "a_share", a_share(cell)
    lists = cell.dropna(subset="score").drop_duplicates("item_id")["words"].astype(int)
    for name, reference in (("coin_flip_score", coin_flip), ("fixed_ranking_score", fixed_ranking)):
        values = [reference(count, options) for count in lists]
        yield name, Estimate(np.mean(values) if values else np.nan, n=len(values))


@metric("a_share")
def a_share(cell: pd.DataFrame) -> Estimate:
    """Share (0 to 1) of answers A among A and B in SS, mean over items; both orders of every pair are asked."""
    shares = cell.groupby([TEMPLATE, "item_id"])["a_share"].mean().dropna()
    return Estimate.of(proportion(shares, np.ones(len(shares)), shares.index.get_level_values(TEMPLATE)), len(shares))


@metric("coin_flip_score")
def coin_flip(words: int, options: McBEOptions) -> float:
    """The SS score expected of answers by coin on a list of ``words``; 100 where probabilities are taken."""
    if options.answers == "exact":
        return 100.0
    return _coin_flip(words, SS_DECAY[options.ss_decay])


@cache
def _coin_flip(words: int, decay: float) -> float:
    rng = np.random.default_rng(0)
    counts = np.zeros((_COIN_DRAWS, words))
    for first, second in itertools.combinations(range(words), 2):
        wins = rng.binomial(2, 0.5, _COIN_DRAWS)
        counts[:, first] += wins
        counts[:, second] += 2 - wins
    return float(100 * np.exp(-decay * counts.var(axis=1)).mean())


@metric("fixed_ranking_score")
def fixed_ranking(words: int, options: McBEOptions) -> float:
    """The SS score of a model that prefers by one ranking of ``words`` in either order: counts 0, 2 ... 2(k - 1)."""
    return float(100 * np.exp(-SS_DECAY[options.ss_decay] * (words**2 - 1) / 3))
