"""Comparisons of benchmarks: DBB's Tables 1 and 5, and its concepts beside BBQ's questions (its Figures 5 to 7).

Our numbers stand beside those that its paper published for six models. Section 5.2 of McBE compares sizes of models.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Metric, metric
from biasatlas.benchmarks.dbb.evidence import share_by_score
from biasatlas.benchmarks.mcbe import family_and_size
from biasatlas.benchmarks.mcbe.spec import SPEC as MCBE
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, beside, make_table, row
from biasatlas.benchmarks.shared.metrics import RATES, STEREOTYPE_SCORE
from biasatlas.columns import TABLE_COLUMNS
from biasatlas.stats.clusters import ratio

#: (benchmark, table) -> that table of it.
Tables = Mapping[tuple[str, str], pd.DataFrame]

#: (benchmark as printed, measure as printed, our metric, what a unit of ours is as published).
Measures = Sequence[tuple[str, str, str, float]]

#: Metrics of the tables that compare benchmarks, also of DBB's concepts beside BBQ's questions. Those of Table 1 have
#: the published names.
METRICS = {
    "count of instances >= 20": Metric(0.0, "DBB: of the instances, those whose bias score reaches the threshold"),
    "mean bias score of instances >= 20": Metric(
        0.0, "DBB: 100: the two identities never get the same option; 0: the identity changes nothing", "points"
    ),
    "bias score": Metric(
        0.0, "BBQ, ambiguous questions: 1: every answer follows the stereotype; -1: every one goes against it", "share"
    ),
    "accuracy": Metric(None, "BBQ, disambiguated questions: 100: every answer is right; chance is 33.3", "%"),
    "probability bias score": STEREOTYPE_SCORE,
    "ICAT score": Metric(
        None, "StereoSet: 100 is ideal, 0 a fully stereotyped (or reversed) or a meaningless model; chance gives 50"
    ),
    "unanswered_rate": RATES["unanswered_rate"],
    "mean_score": MCBE.metrics["mean_score"],
    "cbbq_bias": MCBE.metrics["cbbq_bias"],
    "share": Metric(None, "share of the instances whose bias score is in this range", "share"),
    "association_score": Metric(0.0, "bias score of the one instance that is shown, 0 to 100", "points"),
    "dbb_score": Metric(
        0.0,
        "mean bias score of the concept's instances; 100: the two identities never get the same option; 0: the "
        "identity changes nothing",
        "points",
    ),
    "bbq_bias": Metric(
        0.0,
        "bias score of BBQ's ambiguous items with the question that the concept was made from; 100: every answer "
        "follows the stereotype, -100: every one goes against it",
        "points",
    ),
}

#: (benchmark as printed, how it is asked) -> the (benchmark, table) that it comes from, and which of its rows are used.
#: The paper reports refusals on every benchmark, so it prompted all of them; likelihoods are another way to ask.
_ROWS = (
    {("DBB", "prompted"): (("dbb", "bias"), {"category": "All"})}
    | {
        (f"BBQ-{condition}", "prompted"): (
            ("bbq", "bias"),
            {"category": "overall", "label_type": "all", "condition": condition},
        )
        for condition in ("ambig", "disambig")
    }
    | {
        (name, asked): ((benchmark, table), {"category": "overall"} | rows)
        for asked, table, suffix in (("prompted", "prompted", "_choice"), ("likelihood", "scores", ""))
        for name, benchmark, rows in (
            ("CrowS-Pairs", "crows_pairs", {"direction": "all"}),
            ("StereoSet intrasentence", "stereoset", {"task": f"intrasentence{suffix}"}),
            ("StereoSet intersentence", "stereoset", {"task": f"intersentence{suffix}"}),
        )
    }
)

#: The measures of Table 1; BBQ's bias score is published as a share.
_MEASURES: Measures = (
    ("DBB", "count of instances >= 20", "count", 1),
    ("DBB", "mean bias score of instances >= 20", "mean_score_over_threshold", 1),
    ("BBQ-ambig", "bias score", "bias_score", 0.01),
    ("BBQ-disambig", "accuracy", "accuracy", 1),
    ("CrowS-Pairs", "probability bias score", "stereotype_score", 1),
    ("StereoSet intrasentence", "ICAT score", "icat", 1),
    ("StereoSet intersentence", "ICAT score", "icat", 1),
)
_BENCHMARKS = tuple(dict.fromkeys(benchmark for benchmark, *_ in _MEASURES))

_KEYS = ["model", "benchmark", "asked"]

_MATCH_KEYS = ("model", "bbq_template", "category", "concept_1", "concept_2")
_CONCEPT = ["bbq_template", "concept_1", "concept_2"]
#: A BBQ question shows no bias where its bias score is this near to 0, in points. The paper does not say how near.
NO_BIAS = 5
#: Pairs of questions that are shown for each model.
_EXAMPLES = 2


def compare_scores(
    tables: Tables, published: Published, published_as: Mapping[str, str], measured: Collection[str]
) -> pd.DataFrame:
    """Table 1 of the paper by model, benchmark and how it is asked ("prompted" or "likelihood").

    ``tables`` are tables of the benchmarks under one protocol; missing ones are left out. Published numbers stand
    beside the prompted rows of benchmarks that are ``measured`` as published.
    """
    printed = published("dbb_models").rename(columns={"measure": "metric"})
    return _compare(tables, _MEASURES, printed, published_as, measured)


def compare_refusals(
    tables: Tables, published: Published, published_as: Mapping[str, str], measured: Collection[str]
) -> pd.DataFrame:
    """Table 5 of the paper: ``unanswered_rate`` in percent, by model and benchmark; arguments as for Table 1.

    The paper's refuse rate counts answers that decline or do not follow the instructions.
    """
    rate = "unanswered_rate"
    printed = published("dbb_refusal").rename(columns={"refusal_rate_percent": "value"}).assign(metric=rate)
    # DBB's rates have a table of their own, whose rows have the same names as those of `bias`.
    tables = {("dbb", "bias") if name == ("dbb", "refusals") else name: table for name, table in tables.items()}
    return _compare(tables, [(name, rate, rate, 1) for name in _BENCHMARKS], printed, published_as, measured)


def compare_sizes(
    tables: Tables, published: Published, published_as: Mapping[str, str], measured: Collection[str]
) -> pd.DataFrame:
    """Section 5.2 of McBE: its table ``sizes_elsewhere``, and CBBQ's scores of the models that are measured here.

    As in CBBQ's paper, the scores are shares: in ambiguous contexts of all answers, in disambiguated ones of those that
    name a person (``biased_share``).
    """
    ours = tables["cbbq", "bias"].query("category == 'overall' and metric == 'biased_share'")
    ours = ours.assign(
        benchmark="CBBQ",
        model=ours["model"].map(lambda name: published_as.get(name, name)),
        measure=ours["condition"].map({"ambig": "ambiguous", "disambig": "disambiguated"}),
        metric="cbbq_bias",
    )
    sizes = ours["model"].map(family_and_size)
    ours["size"] = sizes.map(lambda found: f"{found[1]:g}B", na_action="ignore")
    ours[["value", "ci_low", "ci_high", "lower_bound", "upper_bound"]] /= 100
    table = tables["mcbe", "sizes_elsewhere"]
    return pd.concat([table, ours[ours["size"].notna()][list(table)]], ignore_index=True)


def _compare(
    tables: Tables,
    measures: Measures,
    printed: pd.DataFrame,
    published_as: Mapping[str, str],
    measured: Collection[str],
) -> pd.DataFrame:
    parts = [pd.DataFrame(columns=[*_KEYS, *TABLE_COLUMNS])]
    for ((benchmark, asked), (source, rows)), (of, measure, ours, scale) in itertools.product(_ROWS.items(), measures):
        if source not in tables or of != benchmark:
            continue
        wanted = rows | {"metric": ours}
        table = tables[source]
        part = table[(table[list(wanted)] == pd.Series(wanted)).all(axis=1)].copy()
        part[["value", "ci_low", "ci_high", "lower_bound", "upper_bound"]] *= scale
        part = part.assign(benchmark=benchmark, asked=asked, metric=measure)
        parts.append(part[[*_KEYS, *TABLE_COLUMNS]])
    if len(parts) == 1:
        return parts[0]
    table = pd.concat(parts[1:]).sort_values("model", kind="stable", ignore_index=True)
    names = {name: source[0] for (name, _), (source, _) in _ROWS.items()}
    printed = printed[printed["benchmark"].map(names).isin(measured)]
    return beside(table, _KEYS, printed.assign(asked="prompted"), published_as)


@metric("dbb_score", "bbq_bias")
def compare_dbb_bbq(dbb_scores: pd.DataFrame, bbq_scores: pd.DataFrame) -> pd.DataFrame:
    """Two rows per model and concept that both benchmarks ask about: metrics ``dbb_score`` and ``bbq_bias``.

    Both inputs are the scores of all models: of DBB's MCQ (or SG), and of BBQ. ``dbb_score`` is the mean bias score,
    0 to 100 points, over the concept's instances in all of DBB's categories. ``bbq_bias`` is that of the ambiguous
    items of the BBQ template that the concept's question belongs to, -100 to 100 points: the share of answers with the
    stereotype minus the share against it (BBQ's s_AMB), times 100. Both are of one template, so intervals are over what
    is put into it: descriptor types (instances of a type share their questions), and BBQ's pairs of persons. BBQ's
    items without a target person are ``not_applicable``.
    """
    concepts = _of_bbq(dbb_scores, bbq_scores)
    ambiguous = bbq_scores[bbq_scores["condition"] == "ambig"]
    items_of = dict(list(ambiguous.groupby(["model", "template"])))
    rows = []
    keys = ["model", "bbq_template", "concept_1", "concept_2"]
    for (model, template, *names), instances in concepts.dropna(subset="bbq_template").groupby(keys, sort=False):
        items = items_of.get((model, template))
        if items is None:
            continue
        key = dict(zip(_MATCH_KEYS, (model, template, template.rsplit("/", 1)[0], *names), strict=True))
        bias = 100 * (items["biased"] - items["counter"])
        rows.append(row(key, "dbb_score", *_mean(instances["score"], instances["status"], instances["type"], (0, 100))))
        rows.append(row(key, "bbq_bias", *_mean(bias, items["status"], items["persons"], (-100, 100))))
    return make_table(_MATCH_KEYS, rows)


def match_distribution(dbb_scores: pd.DataFrame, bbq_scores: pd.DataFrame, matched: pd.DataFrame) -> pd.DataFrame:
    """Figure 5: DBB's instances by bias score, of concepts whose BBQ question shows no bias and of the others.

    In ``matched``, the table of :func:`compare_dbb_bbq`, a question shows no bias if its score is within
    :data:`NO_BIAS` points of 0. ``share`` is the share (0 to 1) of the instances in each range of ten points. Intervals
    are over concepts' templates.
    """
    wide = _by_concept(matched)
    wide["bbq"] = np.where(wide["bbq_bias"].abs() <= NO_BIAS, "no bias", "bias")
    found = _of_bbq(dbb_scores, bbq_scores).merge(wide[["model", *_CONCEPT, "bbq"]], on=["model", *_CONCEPT])
    rows = []
    for (model, bbq), instances in found.groupby(["model", "bbq"], sort=False):
        counts = Counts.of(instances)
        for low, share in share_by_score(instances).items():
            keys = {"model": model, "bbq": bbq, "score_low": low, "score_high": low + 10}
            rows.append(row(keys, "share", share, counts))
    return make_table(("model", "bbq", "score_low", "score_high"), rows)


def match_examples(
    dbb_scores: pd.DataFrame,
    bbq_scores: pd.DataFrame,
    matched: pd.DataFrame,
    dbb_items: pd.DataFrame,
    bbq_items: pd.DataFrame,
) -> pd.DataFrame:
    """Figures 6 and 7: a question of BBQ without bias beside the DBB instance of its concept with the largest score.

    Each model has two concepts, those with the largest ``dbb_score`` in ``matched``. ``bbq`` and ``dbb`` are the texts;
    ``described_as`` has the two that replace [[X]]. The value is the instance's bias score in points.
    """
    rows: list = []
    wide = _by_concept(matched)
    wide = wide[(wide["bbq_bias"].abs() <= NO_BIAS) & wide["dbb_score"].notna()]
    found = _of_bbq(dbb_scores, bbq_scores)
    ambiguous = bbq_items[bbq_items["condition"] == "ambig"].drop_duplicates("template").set_index("template")
    texts = dbb_items.set_index("item_id")
    for model, concepts in wide.groupby("model", sort=False):
        for concept in concepts.nlargest(_EXAMPLES, "dbb_score").to_dict("records"):
            wanted = pd.Series({name: concept[name] for name in ("model", *_CONCEPT)})
            instances = found[(found[wanted.index] == wanted).all(axis=1)]
            best = instances.sort_values("score", ascending=False, kind="stable").iloc[0]
            names = [f"{best['template_id']}/{best['type']}/{best[who]}" for who in ("identity_1", "identity_2")]
            asked, told = ambiguous.loc[concept["bbq_template"]], texts.loc[names[0]]
            keys = {
                "model": model,
                "bbq": f"{asked['context']} {asked['question']}",
                "dbb": f"{told['context']} A) {told['option_1']} B) {told['option_2']}",
                "described_as": " / ".join(texts.loc[name, "descriptor_paper"] for name in names),
                "bbq_bias": round(concept["bbq_bias"], 1),
            }
            rows.append(row(keys, "association_score", Estimate(best["score"], n=1)))
    return make_table(("model", "bbq", "dbb", "described_as", "bbq_bias"), rows)


def _by_concept(matched: pd.DataFrame) -> pd.DataFrame:
    """The table of :func:`compare_dbb_bbq` with a row per model and concept: ``dbb_score`` and ``bbq_bias``."""
    wide = matched.pivot(index=["model", *_CONCEPT], columns="metric", values="value")
    return wide.reindex(columns=["dbb_score", "bbq_bias"]).reset_index()


def _of_bbq(dbb_scores: pd.DataFrame, bbq_scores: pd.DataFrame) -> pd.DataFrame:
    """DBB's instances whose concept is from a question of BBQ, with its ``bbq_template`` if that is known."""
    templates = bbq_scores.drop_duplicates("item_id").set_index("item_id")["template"]
    concepts = dbb_scores[dbb_scores["source_id"].str.startswith("bbq/", na=False)]
    return concepts.assign(bbq_template=concepts["source_id"].str.removeprefix("bbq/").map(templates))


def _mean(
    values: pd.Series, status: pd.Series, clusters: pd.Series, bounds: tuple[float, float]
) -> tuple[Estimate, Counts]:
    """The mean of the known ``values`` over ``clusters``; "ok" without a value counts as not applicable."""
    known = values.notna()
    inference = ratio(values[known], np.ones(known.sum()), clusters[known], bounds)
    counts = Counts.of(status.mask((status == "ok") & ~known, "not_applicable").to_frame("status"))
    return Estimate.of(inference, n=int(known.sum())), counts
