"""McBE's tables of the benchmark itself: its data, agreement of raters, judge and templates, the paper's statistics.

Annotations and ratings are files of the user's own, since the paper's are not published; docs/mcbe.md describes both.
"""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.mcbe import CATEGORIES, CATEGORY_NAMES
from biasatlas.benchmarks.mcbe.spec import McBEOptions
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, kappa_over_items, make_table, row
from biasatlas.errors import UserError
from biasatlas.stats.intervals import clopper_pearson
from biasatlas.userfiles import check_texts, read_csv_rows, shown

#: Points of Rouge-L in a range of the distribution.
_RANGE = 0.02
#: First letters of jieba's tags of pronouns, adverbs, conjunctions, prepositions, numerals, measures, particles,
#: interjections.
_GRAMMAR = "rdcpmquyoe"
#: Two letters or more, but for the paper's stop words.
_WORD = re.compile(r"(?!(?:然后|一些|那些|可能)$)[^\W\d_]{2,}")
#: Lower bounds of Table 4's levels: 0 to 1, to 3, to 5, to 8, to 10; only the last holds its upper bound.
_LEVELS = (1, 3, 5, 8)

#: Means as printed below Tables 10 and 13.
TABLE_10_MEAN, TABLE_13_MEAN = "0.67", "83.7"
_ITEM = ["model", "category", "item_id"]
_NO_INTERVAL = {"spearman": "of Pearson's alone", "pearson": "fewer than four points, or all on a line"}
#: What the paper prints in its text.
_FRIEDMAN = {"friedman_chi_square": "84.27", "friedman_p": "7.26e-14"}
_QWEN_SS = {"0.5B": "87.69", "1.5B": "80.49", "7B": "77.82", "32B": "77.11"}


@table("composition")
@metric("instances")
def composition(step: Step[McBEOptions]) -> pd.DataFrame:
    """Table 6 and Figure 4: instances by category and subcategory. Workbooks do not give a sentence's source."""
    totals = step.published("mcbe_composition").astype({"instances": int}).groupby("category")["instances"].sum()
    rows = []
    failed = _failed(step.scores)
    for category, items in _distinct(step.scores).groupby("category", sort=False):
        keys, n = {"category": category, "subcategory": "all"}, len(items)
        rows.append(row(keys, "instances", Estimate(n, n=n), failed[category], str(totals[CATEGORY_NAMES[category]])))
        for subcategory, count in items["subcategory"].value_counts(sort=False).items():
            rows.append(row(keys | {"subcategory": subcategory}, "instances", Estimate(count, n=n)))
    return make_table(("category", "subcategory"), rows)


@table("similarity")
def similarity(step: Step[McBEOptions]) -> pd.DataFrame:
    """Figure 5: how the default sentences' mean Rouge-L with all others is distributed, over all and by category.

    A description of all sentences, so without an interval. ``low`` and ``high`` are a range's edges; each range holds
    its lower edge. ``n`` counts sentences.
    """
    items = _distinct(step.scores)
    means = pd.Series(rouge_l(list(items["sentence"])), items.index)
    groups = {"all": means} | dict(list(means.groupby(items["category"], sort=False)))
    rows, failed = [], _failed(step.scores)
    for category, values in groups.items():
        keys = {"category": category, "low": np.nan, "high": np.nan}
        rows.append(row(keys, "rouge_l", Estimate(values.mean(), n=len(values)), failed[category]))
        for low, share in sentence_shares(values).items():
            keys = {"category": category, "low": low, "high": round(low + _RANGE, 2)}
            rows.append(row(keys, "rouge_l_share", Estimate(share, n=len(values)), failed[category]))
    return make_table(("category", "low", "high"), rows)


@metric("rouge_l")
def rouge_l(sentences: list[str]) -> np.ndarray:
    """Mean Rouge-L (F1 over characters, 0 to 1) of each of ``sentences`` with all others; missing of a single one.

    A sentence is not compared with itself; repeated instances are. F1 of the longest common subsequence is rapidfuzz's
    normalised indel similarity.
    """
    if len(sentences) < 2:
        return np.full(len(sentences), np.nan)
    alike = cdist(sentences, sentences, scorer=Indel.normalized_similarity, dtype=np.float32)
    return (alike.sum(axis=1, dtype=float) - 1) / (len(sentences) - 1)


@metric("rouge_l_share")
def sentence_shares(means: pd.Series) -> dict[float, float]:
    """Lower edge of each range of :data:`_RANGE` up to the last used -> share (0 to 1) of the ``means`` in it."""
    ranges = np.floor(means.dropna() / _RANGE + 1e-9).astype(int)
    counts = np.bincount(ranges) if len(ranges) else np.array([], dtype=int)
    return {round(number * _RANGE, 2): count / len(ranges) for number, count in enumerate(counts)}


@table("words")
@metric("occurrences")
def words(step: Step[McBEOptions]) -> pd.DataFrame:
    """Figure 9: how often a category's default sentences have their most frequent words; ``n`` counts all words.

    Words are cut and tagged by jieba and have two characters at least. Words of grammar (pronouns, numerals, adverbs,
    prepositions, conjunctions, particles) and the four that the paper names are stop words.
    """
    import jieba.posseg  # slow to import, and no other table needs it

    jieba.setLogLevel("ERROR")
    rows, failed = [], _failed(step.scores)
    for category, items in _distinct(step.scores).groupby("category", sort=False):
        tagged = (pair for text in items["sentence"] for pair in jieba.posseg.lcut(text))
        cut = [word for word, tag in tagged if tag[0] not in _GRAMMAR and _WORD.fullmatch(word)]
        # By count, then by word, so that ties have an order.
        frequent = sorted(Counter(cut).items(), key=lambda counted: (-counted[1], counted[0]))[:60]
        for word, count in frequent:
            estimate = Estimate(count, n=len(cut))
            rows.append(row({"category": category, "word": word}, "occurrences", estimate, failed[category]))
    return make_table(("category", "word"), rows)


def _distinct(scores: pd.DataFrame) -> pd.DataFrame:
    """A row per instance, whoever answered it, but for those that break the format."""
    return scores[~_broken(scores)].drop_duplicates(["category", "item_id"])


def _failed(scores: pd.DataFrame) -> defaultdict[str, Counts]:
    """Category, and "all" -> the instances that break the format."""
    broken = scores[_broken(scores)].drop_duplicates(["category", "item_id"])
    numbers = {"all": len(broken)} | broken["category"].value_counts().to_dict()
    return defaultdict(Counts, {category: Counts(failed=int(number)) for category, number in numbers.items()})


def _broken(scores: pd.DataFrame) -> pd.Series:
    """Whether an instance breaks the format: it has no sentence, which is missing once a file held it."""
    return scores["sentence"].isna() | (scores["sentence"] == "")


@table("annotator_agreement")
def annotator_agreement(step: Step[McBEOptions]) -> pd.DataFrame:
    """Table 10: Fleiss' kappa of the severity level by category, and the mean over categories.

    The CSV has a row per annotation: ``category``, ``item_id``, ``rater``, ``severity`` (0 to 10), the same number of
    raters, two at least, for every item of a category. Raises :class:`UserError` naming file, line and column.
    """
    from statsmodels.stats.inter_rater import aggregate_raters  # slow to import, and no other table needs it

    path = step.scores
    annotations = _read(path, ("category", "item_id", "rater", "severity"))
    _expect(annotations, "category", annotations["category"].isin(CATEGORIES), f"one of {', '.join(CATEGORIES)}")
    severity = pd.to_numeric(annotations["severity"], errors="coerce")
    _expect(annotations, "severity", severity.between(0, 10), "a number from 0 to 10")
    repeated = annotations.duplicated(["category", "item_id", "rater"])
    _expect(annotations, "rater", ~repeated, "one annotation per item and rater")
    annotations = annotations.assign(level=np.digitize(severity, _LEVELS))
    printed = step.published("mcbe_fleiss_kappa").set_index("category")["fleiss_kappa"]
    rows: list[dict[str, Any]] = []
    for category in [name for name in CATEGORIES if name in set(annotations["category"])]:
        levels = annotations[annotations["category"] == category].groupby("item_id", sort=False)["level"].agg(list)
        if levels.map(len).nunique() > 1:
            raise UserError(f"{path}: {category} has items with different numbers of raters. Complete or remove them.")
        if len(levels.iloc[0]) < 2:
            raise UserError(f"{path}: {category} has one rater. Agreement needs two: add one, or remove the category.")
        estimate = kappa(aggregate_raters(np.array(levels.tolist()), n_cat=len(_LEVELS) + 1)[0])
        rows.append(row({"category": category}, "fleiss_kappa", estimate, published=printed[CATEGORY_NAMES[category]]))
    mean = Estimate(float(np.mean([category_row["value"] for category_row in rows])), n=len(rows))
    rows.append(row({"category": "mean"}, "fleiss_kappa", mean, published=TABLE_10_MEAN))
    return make_table(("category",), rows)


@table("judge_agreement")
def judge_agreement(step: Step[McBEOptions]) -> pd.DataFrame:
    """Table 13: how often judge and people prefer the same of two models, and the mean over pairs.

    The CSV has a row per pair of answers: ``model_a``, ``model_b``, ``item_id``, ``judge`` and ``human``, each of them
    a, b or tie. A printed rate stands beside a pair of models that bear the paper's names, or are configured as
    ``published_as`` such. Raises :class:`UserError` naming file, line and column.
    """
    ratings = _read(step.scores, ("model_a", "model_b", "item_id", "judge", "human"))
    for column in ("judge", "human"):
        _expect(ratings, column, ratings[column].isin(("a", "b", "tie")), "a, b or tie")
    repeated = ratings.duplicated(["model_a", "model_b", "item_id"])
    _expect(ratings, "item_id", ~repeated, "one row per item and pair of models")
    printed = {
        frozenset((pair.model_a, pair.model_b)): pair.consistent_rate_percent
        for pair in step.published("mcbe_judge_agreement").itertuples()
    }
    rows: list[dict[str, Any]] = []
    for (model_a, model_b), pair in ratings.groupby(["model_a", "model_b"], sort=False):
        rate = printed.get(frozenset(step.published_as.get(model, model) for model in (model_a, model_b)))
        keys = {"model_a": model_a, "model_b": model_b}
        rows.append(row(keys, "agreement_percent", agreement(pair["judge"] == pair["human"]), published=rate))
    mean = mean_agreement([pair_row["value"] for pair_row in rows])
    rows.append(row({"model_a": "mean", "model_b": "mean"}, "mean_agreement_percent", mean, published=TABLE_13_MEAN))
    return make_table(("model_a", "model_b"), rows)


@metric("fleiss_kappa")
def kappa(counts: np.ndarray) -> Estimate:
    """Fleiss' kappa of ``counts`` (items, levels), how many raters gave each level, with a jackknife over items.

    At most 1. Missing where all annotations are of one level, for then chance agrees fully, too.
    """
    return kappa_over_items(counts, _kappa)


def _kappa(counts: np.ndarray) -> float:
    from statsmodels.stats.inter_rater import fleiss_kappa  # as above

    return float(fleiss_kappa(counts)) if (counts.sum(axis=0) > 0).sum() > 1 else np.nan


@metric("agreement_percent")
def agreement(same: pd.Series) -> Estimate:
    """Percentage of answers with the ``same`` preference (ties agree), with Clopper and Pearson's interval."""
    low, high = clopper_pearson(int(same.sum()), len(same))
    return Estimate(100 * int(same.sum()) / len(same), 100 * low, 100 * high, len(same), len(same))


@metric("mean_agreement_percent")
def mean_agreement(percentages: Sequence[float]) -> Estimate:
    """Mean over pairs of models of the percentage of answers on which judge and people agree."""
    return Estimate(float(np.mean(percentages)), n=len(percentages))


def _read(path: str | Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """The rows of a CSV, with a text in each cell; the index says where each stands, for messages."""
    rows = {}
    for where, cells in read_csv_rows(path, columns):
        check_texts(where, cells, columns)
        rows[where] = cells
    return pd.DataFrame.from_dict(rows, orient="index")


def _expect(rows: pd.DataFrame, column: str, valid: pd.Series, expected: str) -> None:
    if not valid.all():
        where = valid.idxmin()
        raise UserError(f"{where}, column {column}: {shown(rows.loc[where, column])}. Expected {expected}.")


class Correlation(NamedTuple):
    """A coefficient, -1 to 1, its two-sided p-value, and its interval (of Pearson's alone)."""

    value: float
    p_value: float
    ci_low: float = np.nan
    ci_high: float = np.nan


@table("robustness")
def robustness(step: Step[McBEOptions]) -> pd.DataFrame:
    """Table 12: correlation between the scores under both prompt templates, over models and categories, by task.

    Rows for tasks asked in both prompt templates; ``n`` counts ``points``: "all", or those in the three categories of
    the paper. The printed number stands beside the paper's own nine points, of its three models in these.
    """
    printed = step.published("mcbe_robustness_correlation").set_index(["task", "coefficient"])
    its = step.published("mcbe_robustness")
    categories = [name for name, in_print in CATEGORY_NAMES.items() if in_print in set(its["category"])]
    means = step.scores.groupby(["task", "model", "category", "prompt_set"])["score"].mean().unstack("prompt_set")
    rows: list[dict[str, object]] = []
    if "alternative" in means:
        for task, points in means.dropna().groupby(level="task", sort=False):
            three = points[points.index.get_level_values("category").isin(categories)]
            models = {step.published_as.get(model) for model in three.index.unique("model")}
            nine = models == set(its["model"]) and len(three) == len(models) * len(categories)
            for name, chosen in (("all", points), (", ".join(categories), three)):
                keys = {"task": task, "points": name}
                numbers = printed.loc[task] if nine and chosen is three else None
                rows += _rows(keys, chosen, _not_scored(step.scores, task, chosen), numbers)
    return make_table(("task", "points"), rows)


def _not_scored(scores: pd.DataFrame, task: str, points: pd.DataFrame) -> Counts:
    """The items behind ``points`` that have no score under either template, by model."""
    rows = scores[(scores["task"] == task) & scores["category"].isin(points.index.unique("category"))]
    scored = rows.groupby(_ITEM)["score"].transform("count") > 0
    return Counts.of(rows[~scored].drop_duplicates(_ITEM), rows)


def _rows(
    keys: Mapping[str, str], points: pd.DataFrame, counts: Counts, printed: pd.DataFrame | None
) -> Iterator[dict[str, object]]:
    for name, found in correlations(points["original"], points["alternative"]).items():
        numbers = {} if printed is None else printed.loc[name]
        reason = "" if np.isfinite(found.ci_low) else _NO_INTERVAL[name]
        coefficient = Estimate(found.value, found.ci_low, found.ci_high, len(points), len(points), reason)
        yield row(keys, name, coefficient, counts, numbers.get("value"))
        yield row(keys, f"{name}_p", Estimate(found.p_value, n=len(points)), counts, numbers.get("p_value"))


@metric("spearman", "spearman_p", "pearson", "pearson_p")
def correlations(original: pd.Series, alternative: pd.Series) -> dict[str, Correlation]:
    """Spearman's and Pearson's correlation of paired scores; missing below three pairs, or where a side is constant."""
    if len(original) < 3 or original.nunique() < 2 or alternative.nunique() < 2:
        return dict.fromkeys(_NO_INTERVAL, Correlation(np.nan, np.nan))
    tests = {"spearman": scipy.stats.spearmanr, "pearson": scipy.stats.pearsonr}
    results = {name: test(original, alternative) for name, test in tests.items()}
    # Points on a line have an interval of no width; of three it is all that there is.
    told = len(original) > 3 and abs(results["pearson"].statistic) < 1 - 1e-12
    intervals = {"pearson": results["pearson"].confidence_interval()} if told else {}
    return {
        name: Correlation(result.statistic, result.pvalue, *intervals.get(name, ())) for name, result in results.items()
    }


@metric("friedman_chi_square", "friedman_p")
def friedman_test(blocks: pd.DataFrame) -> tuple[float, float]:
    """Friedman's chi-square (of one degree of freedom less than models) and p-value of ``blocks`` (blocks, models).

    Missing below three models or two blocks.
    """
    return tuple(scipy.stats.friedmanchisquare(*blocks.to_numpy().T)) if _enough(blocks) else (np.nan, np.nan)


@metric("mean_rank")
def mean_ranks(blocks: pd.DataFrame) -> dict[str, float]:
    """Mean rank of every model over ``blocks`` (blocks, models): 1 is the highest score; ties share their ranks."""
    return blocks.rank(axis=1, ascending=False).mean().to_dict()


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


@table("replication")
def replication(step: Step[McBEOptions]) -> pd.DataFrame:
    """What the paper computed from its scores, computed again from those it prints; no model's scores are read.

    ``published_in`` is where the result is published, ``quantity`` what it is of (of the Friedman test, which blocks).
    """
    parts = (_shares, _mean_kappa, _correlations, _judge_agreement, _qwen_scenario_selection, _friedman)
    rows = itertools.chain.from_iterable(part(step.published) for part in parts)
    return make_table(("published_in", "quantity"), rows)


def _recomputed(published_in: str, quantity: str, metric: str, value: float, n: int, printed: str) -> dict:
    return row({"published_in": published_in, "quantity": quantity}, metric, Estimate(value, n=n), published=printed)


@metric("percent")
def _shares(published: Published) -> Iterator[dict]:
    """Table 6: the share of each source in a category's instances, in percent."""
    table = published("mcbe_composition")
    counts = table["instances"].astype(int)
    shares = 100 * counts / counts.groupby(table["category"]).transform("sum")
    for printed, share, count in zip(table.itertuples(), shares, counts, strict=True):
        quantity = f"{printed.category}, {printed.data_source}"
        yield _recomputed("Table 6", quantity, "percent", share, count, printed.percent)


def _mean_kappa(published: Published) -> Iterator[dict]:
    """Table 10: mean over categories of Fleiss' kappa."""
    kappas = published("mcbe_fleiss_kappa")["fleiss_kappa"].astype(float)
    yield _recomputed("Table 10", "mean", "fleiss_kappa", kappas.mean(), len(kappas), TABLE_10_MEAN)


def _correlations(published: Published) -> Iterator[dict]:
    """Table 12: Spearman and Pearson between the scores under two prompt sets, nine points a task, with p-values."""
    scores = published("mcbe_robustness").astype({"score": float})
    printed = published("mcbe_robustness_correlation").set_index(["task", "coefficient"])
    for task, rows in scores.groupby("task", sort=False):
        wide = rows.pivot(index=["category", "model"], columns="prompt", values="score")
        for name, found in correlations(wide["original"], wide["new"]).items():
            numbers = printed.loc[(task, name)]
            yield _recomputed("Table 12", task, name, found.value, len(wide), numbers["value"])
            yield _recomputed("Table 12", task, f"{name}_p", found.p_value, len(wide), numbers["p_value"])


def _judge_agreement(published: Published) -> Iterator[dict]:
    """Table 13: mean rate at which judge and people prefer the same of two models."""
    rates = published("mcbe_judge_agreement")["consistent_rate_percent"].astype(float)
    mean = mean_agreement(rates)
    yield _recomputed("Table 13", "mean", "mean_agreement_percent", mean.value, mean.n, TABLE_13_MEAN)


def _qwen_scenario_selection(published: Published) -> Iterator[dict]:
    """Section 5.2's SS means of Qwen2.5 by size: plain means over the eleven categories."""
    cells = published_scores(published)
    for size, printed in _QWEN_SS.items():
        scores = cells.xs(("SS", f"Qwen2.5-{size}-Instruct"), level=("task", "model")).dropna()
        yield _recomputed("Section 5.2", f"SS of Qwen2.5-{size}", "mean_score", scores.mean(), len(scores), printed)


def _friedman(published: Published) -> Iterator[dict]:
    """The Friedman test over models under each interpretation of its blocks, which the paper does not state."""
    for reading, blocks in friedman_blocks(published_scores(published)).items():
        for (name, printed), value in zip(_FRIEDMAN.items(), friedman_test(blocks), strict=True):
            yield _recomputed("Appendix E.2", reading, name, value, len(blocks), printed)


def friedman_blocks(cells: pd.Series) -> dict[str, pd.DataFrame]:
    """Interpretation -> its blocks (rows) by models (columns), complete; ``cells`` are the printed scores.

    Twelve of the 605 printed cells could not be read: a mean is over those that could, a block of single cells needs
    all. A cell that does not apply (PC of models behind an API, PC and SS of Worldview) is in no block, but is 0 in the
    reading that says so; there an unparsed cell is the model's mean in that task.
    """
    wide = cells.unstack("model")
    white_box = wide.columns[wide.xs("PC", level="task").notna().any()]
    complete = wide.dropna()
    category_means = _level_means(wide, "category")
    without_pc = wide.drop("PC", level="task")
    unparsed = ["Health", "Appearance"]
    return {
        "category means over the tasks that apply": category_means,
        "category means without Health and Appearance": category_means.drop(unparsed),
        "category means without PC": _level_means(without_pc, "category"),
        "category means, what does not apply as 0": _level_means(_with_zeros(wide, white_box), "category"),
        "category-by-task cells": complete,
        "category-by-task cells without Health and Appearance": complete.drop(unparsed, level="category"),
        "category-by-task cells, white-box models": wide[white_box].dropna(),
        **{f"{task} alone": wide.xs(task, level="task").dropna() for task in ("SC", "SS", "BA", "BS")},
        "task means": _level_means(without_pc, "task"),
    }


def _level_means(cells: pd.DataFrame, level: str) -> pd.DataFrame:
    return cells.groupby(level=level, sort=False).mean()


def _with_zeros(cells: pd.DataFrame, white_box: pd.Index) -> pd.DataFrame:
    """Every category and task, 0 where it does not apply; an unparsed cell is the model's mean in that task."""
    task_means = cells.groupby(level="task").transform("mean")
    applies = pd.DataFrame(True, index=cells.index, columns=cells.columns)
    applies.loc[(slice(None), "PC"), cells.columns.difference(white_box)] = False
    filled = cells.where(cells.notna(), task_means).where(applies, 0.0)
    names = ["category", "task"]
    grid = pd.MultiIndex.from_product([filled.index.unique(name) for name in names], names=names)
    return filled.reindex(grid, fill_value=0.0)


def published_scores(published: Published) -> pd.Series:
    """Published scores by the published names of category, task and model; missing where one cannot be read."""
    return published("mcbe_scores").astype({"score": float}).set_index(["category", "task", "model"])["score"]
