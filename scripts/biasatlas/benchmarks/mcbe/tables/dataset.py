"""What the dataset holds: its composition, how alike its sentences are, its words (Table 6, Figures 4, 5 and 9)."""

import re
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORY_NAMES
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, make_table, row

_WORDS_KEPT = 60
#: Points of Rouge-L in a range of the distribution.
_RANGE = 0.02
#: First letters of jieba's tags of pronouns, adverbs, conjunctions, prepositions, numerals, measures, particles, interjections.
_GRAMMAR = "rdcpmquyoe"
_STOP_WORDS = {"然后", "一些", "那些", "可能"}


@table("composition")
@metric("instances")
def composition(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Table 6 and Figure 4: number of instances by category and subcategory. Workbooks do not give a sentence's source."""
    totals = published("mcbe_composition").astype({"instances": int}).groupby("category")["instances"].sum()
    rows = []
    failed = _failed(scores)
    for category, items in _distinct(scores).groupby("category", sort=False):
        keys, n = {"category": category, "subcategory": "all"}, len(items)
        in_print = str(totals[CATEGORY_NAMES[category]])
        rows.append(row(keys, "instances", Estimate(n, n=n), failed[category], in_print))
        for subcategory, count in items["subcategory"].value_counts(sort=False).items():
            rows.append(row(keys | {"subcategory": subcategory}, "instances", Estimate(count, n=n)))
    return make_table(("category", "subcategory"), rows)


@table("similarity")
def similarity(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 5: how the default sentences' mean Rouge-L with all others is distributed, over all and by category.

    A description of all sentences, so without an interval. ``low`` and ``high`` are a range's edges; each range holds its
    lower edge. ``n`` counts sentences.
    """
    items = _distinct(scores)
    means = pd.Series(rouge_l(list(items["sentence"])), items.index)
    groups = {"all": means} | dict(list(means.groupby(items["category"], sort=False)))
    rows, failed = [], _failed(scores)
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
    """Lower edge of each range of :data:`_RANGE` up to the last that is not empty -> share (0 to 1) of the ``means`` in it."""
    ranges = np.floor(means.dropna() / _RANGE + 1e-9).astype(int)
    counts = np.bincount(ranges) if len(ranges) else np.array([], dtype=int)
    return {round(number * _RANGE, 2): count / len(ranges) for number, count in enumerate(counts)}


@table("words")
@metric("occurrences")
def words(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Figure 9: how often a category's default sentences have their most frequent words; ``n`` counts all words.

    Words are cut and tagged by jieba and have two characters at least. Words of grammar (pronouns, numerals, adverbs,
    prepositions, conjunctions, particles) and the four that the paper names are stop words.
    """
    import jieba.posseg  # slow to import, and no other table needs it

    jieba.setLogLevel("ERROR")
    rows, failed = [], _failed(scores)
    for category, items in _distinct(scores).groupby("category", sort=False):
        cut = [word for text in items["sentence"] for word, tag in jieba.posseg.lcut(text) if _counts(word, tag)]
        # By count, then by word, so that ties have an order.
        frequent = sorted(Counter(cut).items(), key=lambda counted: (-counted[1], counted[0]))[:_WORDS_KEPT]
        for word, count in frequent:
            estimate = Estimate(count, n=len(cut))
            rows.append(row({"category": category, "word": word}, "occurrences", estimate, failed[category]))
    return make_table(("category", "word"), rows)


def _counts(word: str, tag: str) -> bool:
    content = tag[0] not in _GRAMMAR and word not in _STOP_WORDS
    return content and re.fullmatch(r"[^\W\d_]{2,}", word) is not None


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
