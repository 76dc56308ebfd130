"""McBE's tables: from item scores to scores by model, category and task, with intervals.

Intervals are percentile intervals of a bootstrap over items (Wilson's for SC, a share of right answers): they say how
far a value would move with other instances of the same kind. An item's score is the mean over its repeats.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import jieba
import numpy as np
import pandas as pd
import scipy
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from biasatlas.benchmarks.mcbe import CATEGORIES, CATEGORY_NAMES, TASKS
from biasatlas.benchmarks.mcbe import published as replicated
from biasatlas.benchmarks.mcbe.agreement import annotator_agreement, judge_agreement
from biasatlas.benchmarks.mcbe.scores import SS_DECAY
from biasatlas.files import TABLE_COLUMNS
from biasatlas.stats.intervals import MIN_UNITS, percentile, resample_counts, wilson

Published = Callable[[str], pd.DataFrame]

_RESAMPLES = 1000
_COIN_DRAWS = 20_000
_WORDS_KEPT = 60
_FAMILY_AND_SIZE = re.compile(r"^(?P<family>.+?)-?(?P<size>\d+(?:\.\d+)?)[Bb](?:-|$)")
_NOT_MISSING = ("refused", "unparseable", "truncated")


def scores(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Figures 10 and 11: the score of every model, category and task, and what stands behind it.

    ``sd_over_repeats`` is the sample standard deviation of the runs' scores (the paper's ±, whose printed values repeat
    between models and are no tolerance). Rates are over all replies. SS has three more rows: ``a_share``, and what a
    coin and a fixed ranking of the words score on the same lists under the same protocol: always A scores 100.
    """
    printed = published("mcbe_scores").set_index(["model", "category", "task"])

    def rows() -> Iterator[dict]:
        for (model, category, task), cell in _cells(scores):
            keys = {"model": model, "category": category, "task": task}
            place = published_as.get(model), CATEGORY_NAMES[category], task
            found = printed.loc[place] if place in printed.index else {}
            items = _items(cell)
            sizes = _sizes(cell, items)
            yield _row(keys, "score", items.mean(), *_interval(items, task), **sizes, published=found.get("score"))
            runs = cell.groupby("repeat")["score"].mean()
            spread = runs.std(ddof=1) if len(runs) > 1 else np.nan
            yield _row(keys, "sd_over_repeats", spread, **sizes, published=found.get("std"))
            for column in ("refused", "unparseable", "unresolved"):
                metric = {"refused": "refusal_rate"}.get(column, f"{column}_rate")
                yield _row(keys, metric, cell[column].mean(), n=len(cell))
            if task == "SS":
                shares = cell.groupby("item_id")["a_share"].mean().dropna()
                yield _row(keys, "a_share", shares.mean(), *_interval(shares, task), n=len(shares))
                lists = cell.dropna(subset="score").drop_duplicates("item_id")["words"].astype(int)
                for metric, reference in (("coin_flip_score", coin_flip), ("fixed_ranking_score", fixed_ranking)):
                    values = [reference(count, protocol) for count in lists]
                    yield _row(keys, metric, np.mean(values) if values else np.nan, n=len(values))

    return _table(("model", "category", "task"), rows())


def coin_flip(words: int, protocol: dict) -> float:
    """The SS score expected of answers by coin on a list of ``words``; 100 where probabilities are taken."""
    if protocol["answers"] == "exact":
        return 100.0
    return _coin_flip(words, SS_DECAY[protocol["ss_decay"]])


@cache
def _coin_flip(words: int, decay: float) -> float:
    rng = np.random.default_rng(0)
    counts = np.zeros((_COIN_DRAWS, words))
    for one, other in itertools.combinations(range(words), 2):
        wins = rng.binomial(2, 0.5, _COIN_DRAWS)
        counts[:, one] += wins
        counts[:, other] += 2 - wins
    return float(100 * np.exp(-decay * counts.var(axis=1)).mean())


def fixed_ranking(words: int, protocol: dict) -> float:
    """The SS score of a model that prefers by one ranking of ``words`` in either order: counts 0, 2 ... 2(k - 1)."""
    return float(100 * np.exp(-SS_DECAY[protocol["ss_decay"]] * (words**2 - 1) / 3))


def category_means(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 6: mean over tasks, by category: those a model has ("available"), and those all of them have ("common").

    Models behind an API have no PC, where others score 80 to 96, so their available means are not comparable.
    ``published`` is the mean of the printed scores of the same tasks, where all of them are printed. ``n`` counts item
    scores.
    """
    return _means(scores, published, published_as, over="task", by="category")


def task_means(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 8: mean over categories (each counts the same), by task; over available and over common categories."""
    return _means(scores, published, published_as, over="category", by="task")


def sizes(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Figure 7: task means of the models of one family, by size in billions of parameters.

    Family and size are read from the published name, or the model's own ("Qwen2.5-7B-Instruct"); a family needs two
    sizes. No such family: no rows.
    """
    table = task_means(scores, protocol, published, published_as)
    table = table[table["average"] == "common"].drop(columns="average")
    named = table["model"].map(lambda model: _FAMILY_AND_SIZE.search(published_as.get(model, model)))
    table = table[named.notna()]
    found = named[named.notna()]
    table.insert(0, "size_billion", [float(match["size"]) for match in found])
    table.insert(0, "family", [match["family"] for match in found])
    several = table.groupby("family")["size_billion"].transform("nunique") > 1
    return table[several].sort_values(["family", "task", "size_billion"], kind="stable").reset_index(drop=True)


def _means(
    scores: pd.DataFrame, published: Published, published_as: dict[str, str], over: str, by: str
) -> pd.DataFrame:
    """Means over the tasks of a category, or over the categories of a task: a row per model, group and average."""
    listed = {"task": "tasks", "category": "categories"}[over]
    printed = replicated.score_cells(published)
    cells = {}
    for (model, category, task), cell in _cells(scores):
        group = {"category": category, "task": task}
        items = _items(cell)
        place = (CATEGORY_NAMES[category], task, published_as.get(model))
        cells[model, group[by], group[over]] = items, _sizes(cell, items), printed.get(place, np.nan)
    models = list(dict.fromkeys(model for model, _, _ in cells))
    groups = [one for one in (CATEGORIES if by == "category" else TASKS) if any(one == group for _, group, _ in cells)]

    def rows() -> Iterator[dict]:
        for model, group in itertools.product(models, groups):
            available = [part for one, of, part in cells if (one, of) == (model, group)]
            common = [part for part in available if all((other, group, part) in cells for other in models)]
            for average, chosen in (("available", available), ("common", common)):
                if not chosen:
                    continue
                items, sizes, found = zip(*(cells[model, group, part] for part in chosen), strict=True)
                yield _row(
                    {"model": model, by: group, "average": average, listed: " ".join(chosen)},
                    "mean_score",
                    np.mean([one.mean() for one in items]),
                    *_interval_of_mean(items, shared=over == "task"),
                    **pd.DataFrame(sizes).sum(),
                    published=f"{np.mean(found):.2f}" if np.isfinite(found).all() else None,
                )

    return _table(("model", by, "average", listed), rows())


def friedman(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Friedman's test over models, and Nemenyi's comparison of every pair, under two readings of the blocks.

    ``blocks``: "category means", over the tasks that all models have, a block per category (the reading nearest to the
    paper's 84.27); "category-by-task cells", a block per cell that all models have. Cells of one category share their
    instances, so the second overstates its evidence. Needs three models and two blocks; else values are missing.
    """
    from scikit_posthocs import posthoc_nemenyi_friedman  # takes a second, for this table alone

    wide = (
        pd.Series({key: _items(cell).mean() for key, cell in _cells(scores)}, dtype=float)
        .rename_axis(["model", "category", "task"])
        .unstack("model")
        .dropna()
    )
    readings = {
        "category means": wide.groupby(level="category", sort=False).mean(),
        "category-by-task cells": wide,
    }

    def rows() -> Iterator[dict]:
        for name, blocks in readings.items():
            enough = blocks.shape[1] >= 3 and len(blocks) >= 2
            values = blocks.to_numpy()
            chi_square, p_value = scipy.stats.friedmanchisquare(*values.T) if enough else (np.nan, np.nan)
            keys = {"blocks": name, "model": None, "other_model": None}
            yield _row(keys, "friedman_chi_square", chi_square, n=len(blocks))
            yield _row(keys, "friedman_p", p_value, n=len(blocks))
            ranks = (
                scipy.stats.rankdata(-values, axis=1).mean(axis=0) if len(blocks) else np.full(blocks.shape[1], np.nan)
            )
            for model, rank in zip(blocks.columns, ranks, strict=True):
                yield _row(keys | {"model": model}, "mean_rank", rank, n=len(blocks))
            pairs = posthoc_nemenyi_friedman(values).to_numpy() if enough else None
            for one, other in itertools.combinations(range(blocks.shape[1]) if enough else (), 2):
                pair = {"model": blocks.columns[one], "other_model": blocks.columns[other]}
                yield _row(keys | pair, "nemenyi_p", pairs[one, other], n=len(blocks))

    return _table(("blocks", "model", "other_model"), rows())


def robustness(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Table 12: correlation between the scores under both wordings, over models and categories, by task.

    Rows for tasks asked in both wordings; needs three points. ``published`` is of the paper's own nine points.
    """
    printed = published("mcbe_robustness_correlation").set_index(["task", "coefficient"])["value"]
    means = scores.groupby(["task", "model", "category", "prompt_set"])["score"].mean().unstack("prompt_set")

    def rows() -> Iterator[dict]:
        if "alternative" not in means:
            return
        for task, points in means.dropna().groupby(level="task", sort=False):
            original, alternative = points["original"], points["alternative"]
            enough = len(points) >= 3 and original.nunique() > 1 and alternative.nunique() > 1
            for name, test in (("spearman", scipy.stats.spearmanr), ("pearson", scipy.stats.pearsonr)):
                found = test(original, alternative) if enough else None
                value, p_value = (found.statistic, found.pvalue) if found else (np.nan, np.nan)
                interval = found.confidence_interval() if found and name == "pearson" else ()
                yield _row({"task": task}, name, value, *interval, n=len(points), published=printed.get((task, name)))
                yield _row({"task": task}, f"{name}_p", p_value, n=len(points))

    return _table(("task",), rows())


def composition(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Table 6 and Figure 4: instances by category and subcategory. Workbooks do not tell where a sentence is from."""
    totals = published("mcbe_composition").astype({"instances": int}).groupby("category")["instances"].sum()
    items = _distinct(scores)

    def rows() -> Iterator[dict]:
        for category, mine in items.groupby("category", sort=False):
            keys = {"category": category, "subcategory": "all"}
            printed = str(totals[CATEGORY_NAMES[category]])
            yield _row(keys, "instances", len(mine), n=len(mine), published=printed)
            for subcategory, count in mine["subcategory"].value_counts(sort=False).items():
                yield _row(keys | {"subcategory": subcategory}, "instances", count, n=len(mine))

    return _table(("category", "subcategory"), rows())


def similarity(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 5: mean Rouge-L (F1 over characters) between default sentences of two categories, or of one.

    A sentence is not compared with itself; repeated instances are. F1 of the longest common subsequence is rapidfuzz's
    normalised indel similarity. A description of all sentences, so without an interval.
    """
    sentences = {name: list(mine["sentence"]) for name, mine in _distinct(scores).groupby("category", sort=False)}

    def rows() -> Iterator[dict]:
        for one, other in itertools.combinations_with_replacement(sentences, 2):
            alike = cdist(sentences[one], sentences[other], scorer=Indel.normalized_similarity, dtype=np.float32)
            total, pairs = alike.sum(dtype=float), alike.size
            if one == other:
                total, pairs = total - len(alike), pairs - len(alike)
            value = total / pairs if pairs else np.nan
            yield _row({"category": one, "other_category": other}, "rouge_l", value, n=pairs)

    return _table(("category", "other_category"), rows())


def words(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Figure 9: the words of a category's default sentences by frequency, cut by jieba; of two characters at least."""
    jieba.setLogLevel("ERROR")

    def rows() -> Iterator[dict]:
        for category, mine in _distinct(scores).groupby("category", sort=False):
            found = [
                word for text in mine["sentence"] for word in jieba.lcut(text) if re.fullmatch(r"[^\W\d_]{2,}", word)
            ]
            # By count, then by word, so that ties have an order.
            most = sorted(Counter(found).items(), key=lambda one: (-one[1], one[0]))[:_WORDS_KEPT]
            for word, count in most:
                yield _row({"category": category, "word": word}, "occurrences", count, n=len(found))

    return _table(("category", "word"), rows())


def replication(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """What the paper computed from its scores, computed again from those it prints; no model's scores are read."""
    parts = (
        replicated.correlations,
        replicated.judge_agreement,
        replicated.qwen_scenario_selection,
        replicated.friedman,
    )
    return pd.concat([part(published) for part in parts], ignore_index=True)


def _cells(scores: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """(model, category, task) and the item scores of each, original prompts only, in the paper's order."""
    original = scores[scores["prompt_set"] == "original"]
    groups = dict(list(original.groupby(["model", "category", "task"], sort=False)))
    for model, category, task in itertools.product(original["model"].unique(), CATEGORIES, TASKS):
        if (model, category, task) in groups:
            yield (model, category, task), groups[model, category, task]


def _distinct(scores: pd.DataFrame) -> pd.DataFrame:
    return scores.drop_duplicates(["category", "item_id"])


def _items(cell: pd.DataFrame) -> pd.Series:
    """Scored items, the mean over the repeats that have a score."""
    return cell.groupby("item_id", sort=False)["score"].mean().dropna()


def _sizes(cell: pd.DataFrame, items: pd.Series) -> dict[str, int]:
    """``n``: ``items``, those with a score; the others by the status of their first repeat."""
    status = cell[~cell["item_id"].isin(items.index)].drop_duplicates("item_id")["status"]
    return {
        "n": len(items),
        "refused": int((status == "refused").sum()),
        "unparseable": int(status.isin(["unparseable", "truncated"]).sum()),
        "missing": int((~status.isin(_NOT_MISSING)).sum()),
    }


def _interval(items: pd.Series, task: str) -> tuple[float, float]:
    if task == "SC":
        low, high = wilson(items.sum() / 100, len(items))
        return 100 * low, 100 * high
    return _interval_of_mean([items], shared=True)


def _interval_of_mean(parts: Sequence[pd.Series], shared: bool) -> tuple[float, float]:
    """Interval of the mean of the means of ``parts``; ``shared``: the same items in all, so resampled together."""
    units = len(pd.concat(parts).index.unique()) if parts else 0
    if units < MIN_UNITS or not all(len(part) for part in parts):
        return np.nan, np.nan
    if shared:
        wide = pd.concat(parts, axis=1)
        means = _resampled(wide.to_numpy(), 0)
    else:
        means = np.hstack([_resampled(part.to_numpy()[:, None], seed) for seed, part in enumerate(parts)])
    return tuple(percentile(means.mean(axis=1)))


def _resampled(values: np.ndarray, seed: int) -> np.ndarray:
    """Means of the columns of ``values`` (items, columns), missing ones left out, in each resample of the items."""
    counts = _counts(len(values), seed)
    with np.errstate(invalid="ignore"):
        return counts @ np.nan_to_num(values) / (counts @ np.isfinite(values))


@cache
def _counts(n: int, seed: int) -> np.ndarray:
    return resample_counts(n, _RESAMPLES, seed)


def _row(
    keys: dict,
    metric: str,
    value: float,
    ci_low: float = np.nan,
    ci_high: float = np.nan,
    *,
    n: int,
    refused: int = 0,
    unparseable: int = 0,
    missing: int = 0,
    published: str | None = None,
) -> dict:
    known = isinstance(published, str)
    return keys | {
        "metric": metric,
        "value": float(value),
        "ci_low": float(ci_low),
        "ci_high": float(ci_high),
        "n": int(n),
        "refused": int(refused),
        "unparseable": int(unparseable),
        "missing": int(missing),
        "published": published if known else None,
        "difference": float(value) - float(published) if known else np.nan,
    }


def _table(keys: tuple[str, ...], rows: Iterable[dict]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[*keys, *TABLE_COLUMNS])


TABLES = {
    "scores": scores,
    "category_means": category_means,
    "task_means": task_means,
    "sizes": sizes,
    "friedman": friedman,
    "robustness": robustness,
    "composition": composition,
    "similarity": similarity,
    "words": words,
    "replication": replication,
    "annotator_agreement": annotator_agreement,
    "judge_agreement": judge_agreement,
}
