"""What the dataset holds (Tables 1 and 6)."""

from collections.abc import Iterator, Mapping

import pandas as pd

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, make_table, row
from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.vocabulary import ETHNIC_GROUPS, GENDERS, GROUP_NAMES

_KEYS = ("target_group", "platform", "toxicity")


@table("composition")
def composition(
    scores: pd.DataFrame, options: TWBiasOptions, published: Published, published_as: Mapping[str, str]
) -> pd.DataFrame:
    """Sentences by target group, with their toxicity (Table 1) or platform (Table 6).

    Counts of the dataset, so without a model and an interval; a sentence without a toxicity label counts as "not
    applicable" to its subsets. Table 1 and the files differ for Hoklo (toxic and non-toxic exchanged) and Hakka (one
    sentence more, without a toxicity label).
    """
    printed = published("twbias_composition").fillna("")
    printed = printed[printed["quantity"] == "biased sentences"].set_index(list(_KEYS))["count"].to_dict()
    sentences = scores.drop_duplicates("item_id")
    rows = []
    for group in (*GENDERS, *ETHNIC_GROUPS):
        for platform, toxicity, count, unlabelled in _subsets(sentences[sentences["target_group"] == group]):
            keys = dict(zip(_KEYS, (group, platform, toxicity), strict=True))
            known = printed.get((GROUP_NAMES[group], platform, toxicity))
            estimate = Estimate(count, n=count)
            rows.append(row(keys, "sentences", estimate, Counts(not_applicable=unlabelled), known))
    return make_table(_KEYS, rows)


@metric("sentences")
def _subsets(sentences: pd.DataFrame) -> Iterator[tuple[str, str, int, int]]:
    """(platform, toxicity, sentences, sentences without a toxicity label) of each subset of a group, if it has any."""
    if sentences.empty:
        return
    unlabelled = int(sentences["toxicity"].isna().sum())
    yield "", "all", len(sentences), 0
    for toxicity in ("toxic", "non-toxic"):
        yield "", toxicity, int((sentences["toxicity"] == toxicity).sum()), unlabelled
    for platform, count in sentences["platform"].value_counts().sort_index().items():
        yield platform, "all", int(count), 0
