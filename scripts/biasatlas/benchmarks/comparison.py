"""Benchmarks beside each other, as in DBB's Tables 1 and 5, with what it published of six models; sizes in McBE."""

import itertools
from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from biasatlas.benchmarks.contract import Metric
from biasatlas.benchmarks.mcbe import family_and_size
from biasatlas.benchmarks.mcbe.spec import SPEC as MCBE
from biasatlas.benchmarks.shared.estimates import Published, beside
from biasatlas.benchmarks.shared.metrics import RATES, STEREOTYPE_SCORE
from biasatlas.columns import TABLE_COLUMNS

#: (benchmark, table) -> that table of it.
Tables = Mapping[tuple[str, str], pd.DataFrame]

#: (benchmark as printed, measure as printed, our metric, what a unit of ours is as published).
Measures = Sequence[tuple[str, str, str, float]]

#: Metrics of the tables that compare benchmarks, DBB's concepts beside BBQ's questions included. Those of Table 1 bear
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

#: (benchmark as printed, reading) -> the (benchmark, table) that it comes from, and the rows of it that are used.
#: The paper reports refusals on every benchmark, so it prompted all of them; likelihoods are another way to ask.
_ROWS = {("DBB", "prompted"): (("dbb", "bias"), {"category": "All"})} | {
    (f"BBQ-{condition}", "prompted"): (
        ("bbq", "bias"),
        {"category": "overall", "label_type": "all", "condition": condition},
    )
    for condition in ("ambig", "disambig")
}
for _asked, _name, _suffix in (("prompted", "prompted", "_choice"), ("likelihood", "scores", "")):
    _ROWS["CrowS-Pairs", _asked] = (("crows_pairs", _name), {"category": "overall", "direction": "all"})
    for _task in ("intrasentence", "intersentence"):
        _ROWS[f"StereoSet {_task}", _asked] = (("stereoset", _name), {"task": _task + _suffix, "category": "overall"})

#: Table 1's; BBQ's bias score is published as a share.
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


def compare_scores(
    tables: Tables, published: Published, published_as: Mapping[str, str], measured: Collection[str]
) -> pd.DataFrame:
    """Table 1 of the paper by model, benchmark and how it is asked ("prompted" or "likelihood").

    ``tables`` are tables of the benchmarks under one protocol; what is not among them is left out. The published number
    stands beside the prompted rows, of the benchmarks that are ``measured`` as published.
    """
    printed = published("dbb_models").rename(columns={"measure": "metric"})
    return _compare(tables, _MEASURES, printed, published_as, measured)


def compare_refusals(
    tables: Tables, published: Published, published_as: Mapping[str, str], measured: Collection[str]
) -> pd.DataFrame:
    """Table 5 of the paper: ``unanswered_rate`` in percent, by model and benchmark; arguments as for Table 1.

    The paper's refuse rate counts answers that decline or do not follow the instructions.
    """
    metric = "unanswered_rate"
    printed = published("dbb_refusal").rename(columns={"refusal_rate_percent": "value"}).assign(metric=metric)
    # DBB's rates stand in a table of their own, whose rows are named as those of `bias` are.
    tables = {("dbb", "bias") if name == ("dbb", "refusals") else name: table for name, table in tables.items()}
    return _compare(tables, [(name, metric, metric, 1) for name in _BENCHMARKS], printed, published_as, measured)


def compare_sizes(
    tables: Tables, published: Published, published_as: Mapping[str, str], measured: Collection[str]
) -> pd.DataFrame:
    """Section 5.2 of McBE: its table ``sizes_elsewhere``, and CBBQ's scores of the models that are measured here.

    As CBBQ's paper prints them, they are shares: of all answers in ambiguous contexts, in disambiguated ones of those
    that name a person (``biased_share``).
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
    for ((benchmark, asked), (source, rows)), (of, measure, metric, scale) in itertools.product(
        _ROWS.items(), measures
    ):
        if source not in tables or of != benchmark:
            continue
        wanted = rows | {"metric": metric}
        table = tables[source]
        part = table[(table[list(wanted)] == pd.Series(wanted)).all(axis=1)].copy()
        part[["value", "ci_low", "ci_high", "lower_bound", "upper_bound"]] *= scale
        part = part.assign(benchmark=benchmark, asked=asked, metric=measure)
        parts.append(part[[*_KEYS, *TABLE_COLUMNS]])
    if len(parts) == 1:
        return parts[0]
    table = pd.concat(parts[1:]).sort_values("model", kind="stable", ignore_index=True)
    ours = {name: source[0] for (name, _), (source, _) in _ROWS.items()}
    printed = printed[printed["benchmark"].map(ours).isin(measured)]
    return beside(table, _KEYS, printed.assign(asked="prompted"), published_as)
