"""TWBias's tables: from sentence log-likelihoods to what swapping terms does, with intervals over sentences.

Effect sizes have a jackknife, the regression of ``own_group`` has CR2. The prompts ask about the same sentences, so
they are one measurement: a sentence leaves all of them at once. Intervals say how far a value would move with another
sample of such sentences; the outlier rule is applied before. A share of significant prompts counts crossings of a
threshold, and what is averaged over those prompts was chosen by it: such numbers have no interval. The agreement of
annotators, and the means recomputed from printed numbers, concern no model.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, beside, kappa_over_items, make_table, row
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.benchmarks.twbias.spec import ETHNIC_GROUPS, GENDERS, GROUP_NAMES, PROMPT_TYPES, PROMPTS, TWBiasOptions
from biasatlas.benchmarks.twbias.swaps import (
    KEYS,
    PAPER_METRICS,
    SENTENCE,
    Regression,
    by_prompt,
    directions,
    own_group_estimates,
    regression,
    summary_rows,
    swapped_pairs,
    tested_and_counts,
    with_intervals,
)
from biasatlas.errors import UserError
from biasatlas.sources import names_in
from biasatlas.stats.replicates import Crossed
from biasatlas.userfiles import listed, read_csv_rows, shown

#: The numbers of a test have no interval of their own.
_TESTS = dict.fromkeys(("p_value", "t"), "a test")

#: Options of the analysis that the multiverse crosses.
_CROSSED = ("test", "outliers", "ppl_scale", "effect_size")

_OWN_GROUP_KEYS = ("model", "group", "other_group", "over")
_COMPOSITION_KEYS = ("target_group", "platform", "toxicity")

#: Columns of the annotators' labels, the authors' first.
_LABELS = ("Answer", "Label 1", "Label 2", "Label 3")
#: Upstream's words for annotations and groups in a file's name.
_ANNOTATIONS = {"bias": "social bias", "toxicity": "toxicity"}
_ANNOTATED = {
    "female": ("female",),
    "male": ("male",),
    "indigenous": ("原住民",),
    "hakka": ("客家人",),
    "hoklo": ("福佬人",),
    "waishengren": ("外省人", "W"),
}
#: How labels begin: "there is none", "there is".
_NO, _YES = "沒有", "有"


@table("own_group")
def own_group(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """:func:`own_group_estimates` of each pair of groups with sentences of both, the ten prompts as one measurement.

    The options on scale and outliers do not matter. ``over`` "sentences": the interval says how far the value would
    move with other sentences and the same terms; "terms": also with other terms, both original and swapped in; verdicts
    rest on this one. ``n`` counts sentences of both groups that have a score under all ten prompts.
    """
    rows = []
    for model, of_model in step.scores.groupby("model", sort=False):
        for pair, found in swapped_pairs(of_model, step.options):
            crossing = (found[key].sentences for key in (pair, pair[::-1]) if key in found)
            counts = sum(map(Counts.of, crossing), Counts())
            for name, over, inference, n in own_group_estimates(of_model, found, pair):
                keys = {"model": model, "group": pair[0], "other_group": pair[1], "over": over}
                rows.append(row(keys, name, Estimate.of(inference, n), counts))
    return make_table(_OWN_GROUP_KEYS, rows)


@table("gender")
def gender(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """Bias ratio and effect size of the two gender directions (Tables 4 and 11).

    Beside them: the ratio after Holm's and after Benjamini and Hochberg's correction over the ten prompts, and the
    effect over all ten, significant or not. If scores are under some of the prompts only, all are over those.
    """
    asked = [name for name in PROMPTS if name in set(step.scores["prompt_type"])]
    found = directions(step.scores, step.options, GENDERS, asked)
    rows = [row for direction in found for row in summary_rows(direction, step.options)]
    printed = _long(step.published("twbias_gender"))
    return beside(make_table(KEYS, rows), ("model", "target_group"), printed, step.published_as)


@table("ethnicity")
def ethnicity(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """Bias ratio and effect size of the sixteen ethnic directions (Figures 5 and 8), as :func:`gender`.

    A group's own terms as reference are the null of its rows: what swapping terms does without crossing groups (option
    ``own_group_swaps``). No numbers can be read off Figure 5; ``published`` is recomputed from the perplexities that
    the authors released.
    """
    rows = [
        row
        for direction in directions(step.scores, step.options, ETHNIC_GROUPS, controls=True)
        for row in summary_rows(direction, step.options)
    ]
    return beside(make_table(KEYS, rows), KEYS, _long(step.published("twbias_ethnicity_recomputed")), step.published_as)


@table("toxicity")
def toxicity(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """Bias ratio and effect size in all, toxic and non-toxic sentences of the gender directions (Table 5).

    The outlier rule is applied to all sentences of a direction before they are divided, as in the authors' code.
    """
    rows = []
    for direction in directions(step.scores, step.options, GENDERS):
        labels = direction.sentences["toxicity"].to_numpy()
        for subset in ("all", "toxic", "non-toxic"):
            numbers = np.arange(len(labels)) if subset == "all" else np.flatnonzero(labels == subset)
            rows += summary_rows(direction, step.options, numbers=numbers, toxicity=subset)
    printed = _long(step.published("twbias_toxicity"))
    return beside(
        make_table((*KEYS, "toxicity"), rows), ("model", "target_group", "toxicity"), printed, step.published_as
    )


@table("attributes")
def attributes(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """Bias ratio and effect size by attribute category, of all eighteen directions (Figures 3 and 6).

    ``n`` counts the rows of the test: sentences, or (option ``attribute_rows``: exploded) combinations of a target and
    an attribute. Values of a category with fewer than ``min_category_size`` sentences are missing. The outlier rule is
    applied before sentences are divided.
    """
    metrics = ("bias_ratio", "effect_size", "effect_size_all_prompts")
    rows = []
    for direction in directions(step.scores, step.options, (*GENDERS, *ETHNIC_GROUPS)):
        for category, numbers in _sentences_by_category(direction.sentences, step.options.attribute_rows).items():
            least, size = step.options.min_category_size, len(np.unique(numbers))
            if size >= least:
                rows += summary_rows(direction, step.options, metrics, numbers, attribute_category=category)
                continue
            keys = direction.keys | {"attribute_category": category}
            n, counts = tested_and_counts(direction, numbers)
            few = Estimate(np.nan, n=n, no_interval_reason=f"{size} sentences, {least} are needed")
            rows += [row(keys, metric, few, counts) for metric in metrics]
    return make_table((*KEYS, "attribute_category"), rows)


def _sentences_by_category(sentences: pd.DataFrame, attribute_rows: str) -> dict[str, np.ndarray]:
    """Attribute category -> numbers of its sentences, repeated under "exploded"; in the order of the names."""
    members: dict[str, list[int]] = {}
    for number, categories in enumerate(map(json.loads, sentences["attribute_categories"])):
        for category in dict.fromkeys(categories) if attribute_rows == "unique" else categories:
            members.setdefault(category, []).append(number)
    return {category: np.array(members[category]) for category in sorted(members)}


def _long(printed: pd.DataFrame) -> pd.DataFrame:
    """A printed table with a row for each number, and the groups by our names."""
    ours = {name: group for group, name in GROUP_NAMES.items()}
    groups = printed.columns.intersection(["target_group", "reference_group"])
    named = printed.assign(**{column: printed[column].map(ours) for column in groups})
    keys = [column for column in named if column not in PAPER_METRICS]
    return named.melt(keys, PAPER_METRICS, var_name="metric")


@table("prompts")
def prompts(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """The test of every direction and prompt type, with no template and with an empty prompt (Figure 2).

    Metrics: ``p_value`` and ``t`` (positive: perplexity rises), ``effect_size`` and ``mean_difference`` on the
    options' scale. P-values are not corrected. ``n`` counts the sentences that the outlier rule leaves by prompt type.
    """
    rows = []
    for direction in directions(step.scores, step.options, (*GENDERS, *ETHNIC_GROUPS), PROMPT_TYPES):
        numbers = np.arange(len(direction.sentences))
        estimates = with_intervals(by_prompt, direction.original, direction.replaced, numbers, step.options, _TESTS)
        _, counts = tested_and_counts(direction, numbers)
        tested = np.isfinite(direction.original).sum(axis=0)
        for column, prompt_type in enumerate(PROMPT_TYPES):
            keys = direction.keys | {"prompt_type": prompt_type}
            for name, inferences in estimates.items():
                rows.append(row(keys, name, Estimate.of(inferences[column], tested[column]), counts))
    return make_table((*KEYS, "prompt_type"), rows)


@table("multiverse")
def multiverse(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """The gender table under every choice of test, outlier rule, scale and effect size, the rest as in ``options``."""
    choices = [get_args(TWBiasOptions.model_fields[name].annotation) for name in _CROSSED]
    rows = []
    for chosen in itertools.product(*choices):
        changes = dict(zip(_CROSSED, chosen, strict=True))
        changed = step.options.model_copy(update=changes)
        for direction in directions(step.scores, changed, GENDERS):
            rows += summary_rows(direction, changed, PAPER_METRICS, **changes)
    return make_table((*KEYS, *_CROSSED), rows)


@table("composition")
def composition(step: Step) -> pd.DataFrame:
    """Sentences by target group, with their toxicity (Table 1) or platform (Table 6).

    Counts of the dataset, so without a model and an interval; a sentence without a toxicity label counts as "not
    applicable" to its subsets. Table 1 and the files differ for Hoklo (toxic and non-toxic exchanged) and Hakka (one
    sentence more, without a toxicity label).
    """
    printed = step.published("twbias_composition").fillna("")
    printed = printed[printed["quantity"] == "biased sentences"].set_index(list(_COMPOSITION_KEYS))["count"].to_dict()
    sentences = step.scores.drop_duplicates("item_id")
    rows = []
    for group in (*GENDERS, *ETHNIC_GROUPS):
        for platform, toxicity, count, unlabelled in _subsets(sentences[sentences["target_group"] == group]):
            keys = dict(zip(_COMPOSITION_KEYS, (group, platform, toxicity), strict=True))
            known = printed.get((GROUP_NAMES[group], platform, toxicity))
            estimate = Estimate(count, n=count)
            rows.append(row(keys, "sentences", estimate, Counts(not_applicable=unlabelled), known))
    return make_table(_COMPOSITION_KEYS, rows)


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


@table("annotator_agreement")
def annotator_agreement(step: Step) -> pd.DataFrame:
    """Table 8: Cohen's kappa by what was annotated and target group, against the authors' label and between annotators.

    The scores are a folder with a CSV per group and annotation, named ``{group}_{bias or toxicity}.csv``, with a row
    per item: the label of the authors (``Answer``) and those of three annotators. What the paper prints as agreement
    between annotators is that with the authors. ``n`` counts items. Raises :class:`UserError` for a missing file, and,
    naming file, line and column, for a label that says neither yes nor no.
    """
    printed = step.published("twbias_kappa").set_index(["annotation", "target_group"])["cohens_kappa"]
    rows = []
    for ending, annotation in _ANNOTATIONS.items():
        for group, names in _ANNOTATED.items():
            labels = _read_labels(_label_file(Path(step.scores), names, ending))
            keys = {"annotation": annotation, "target_group": group}
            number = printed[annotation, GROUP_NAMES[group]]
            rows.append(row(keys, "kappa_with_authors", with_authors(labels), published=number))
            rows.append(row(keys, "kappa_between_annotators", between_annotators(labels)))
    return make_table(("annotation", "target_group"), rows)


@metric("kappa_with_authors")
def with_authors(labels: np.ndarray) -> Estimate:
    """Mean over the annotators of Cohen's kappa (-1 to 1) between each and the authors; a jackknife over items.

    ``labels`` (items, 1 + annotators) are 0 or 1, the authors' first.
    """
    return kappa_over_items(labels, lambda rows: _mean_kappa(rows, [(0, other) for other in range(1, rows.shape[1])]))


@metric("kappa_between_annotators")
def between_annotators(labels: np.ndarray) -> Estimate:
    """Mean over the pairs of annotators of their Cohen's kappa (-1 to 1); as :func:`with_authors`."""
    pairs = list(itertools.combinations(range(1, labels.shape[1]), 2))
    return kappa_over_items(labels, lambda rows: _mean_kappa(rows, pairs))


def _mean_kappa(labels: np.ndarray, pairs: list[tuple[int, int]]) -> float:
    return float(np.mean([_kappa(labels[:, first], labels[:, second]) for first, second in pairs]))


def _kappa(one: np.ndarray, other: np.ndarray) -> float:
    """Missing where both give all items one and the same label: agreement by chance is then complete, too."""
    from statsmodels.stats.inter_rater import cohens_kappa  # slow to import, and no other table needs it

    counts = np.bincount(2 * one + other, minlength=4).reshape(2, 2)
    if (counts.sum() == counts.diagonal()).any():
        return np.nan
    return float(cohens_kappa(counts, return_results=False))


def _label_file(folder: Path, names: tuple[str, ...], ending: str) -> Path:
    files = {Path(name).name: folder / name for name in names_in(folder)}
    for name in names:
        if path := files.get(f"{name}_{ending}.csv"):
            return path
    raise UserError(f"{folder}: no {names[0]}_{ending}.csv; found {listed(files)}. Fetch the source again.")


def _read_labels(path: Path) -> np.ndarray:
    """The labels (items, 1 + annotators) of a file, 1 for yes."""
    return np.array(
        [[_label(where, cells, column) for column in _LABELS] for where, cells in read_csv_rows(path, _LABELS)]
    )


def _label(where: str, cells: Mapping[str, str], column: str) -> int:
    text = cells[column].strip()
    for start, label in ((_NO, 0), (_YES, 1)):
        if text.startswith(start):
            return label
    raise UserError(f"{where}, column {column}: {shown(text)}. Expected a label that begins with {_YES} or {_NO}.")


@table("replication")
def replication(step: Step) -> pd.DataFrame:
    """Table 12: each model's mean on MT-Bench in Traditional Chinese, from eight printed fields; no score is read."""
    grades = step.published("twbias_mt_bench").set_index(["model", "category"])["value"]
    rows = []
    for model in grades.index.unique("model"):
        of_model = grades.loc[model]
        keys = {"published_in": "Table 12", "quantity": model}
        rows.append(row(keys, "mean_grade", mean_grade(of_model.drop("mean")), published=of_model["mean"]))
    return make_table(("published_in", "quantity"), rows)


@metric("mean_grade")
def mean_grade(fields: pd.Series) -> Estimate:
    """Mean over fields of MT-Bench's grades, 1 to 10."""
    return Estimate(fields.astype(float).mean(), n=len(fields))


def evidence(step: Step[TWBiasOptions]) -> Iterator[Evidence]:
    """``own_term_advantage`` and ``own_group_advantage`` of each pair of groups, over their terms.

    Each swap of two terms has a cost of its own in a model; over sentences, many of which share a swap, that cost would
    look like bias. A sentence's distance from neutral is its mean loss of log-likelihood under a swap for the other
    group: above 0 where the original is likelier.
    """
    for pair, found in swapped_pairs(step.scores, step.options):
        model = regression(step.scores, found, pair)
        if not model.reason and len(model.changes):
            yield of_two(pair, model, model.replicates("terms"))


def of_two(pair: tuple[str, str], model: Regression, replicates: Crossed) -> Evidence:
    """The evidence on a pair of groups."""
    other = model.changes[model.changes["crossed"] == 1]
    lost = -other.groupby(SENTENCE, sort=False)["log_likelihood"].mean()
    names = lost.index.to_series()
    return Evidence(model.metric, "", "-".join(pair), replicates, items_of(names, names, lost))
