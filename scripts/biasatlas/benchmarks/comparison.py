"""DBB's Tables 1 and 5: the benchmarks side by side, with the numbers that the paper printed for its six models."""

from collections.abc import Callable

import pandas as pd

from biasatlas.benchmarks.shared.estimates import beside
from biasatlas.files import TABLE_COLUMNS

Tables = dict[tuple[str, str], pd.DataFrame]

#: (benchmark as printed, reading) -> the (benchmark, table) that it comes from, and the rows of it that it takes.
#: The paper reports refusals on every benchmark, so it prompted all of them; likelihoods are another reading.
_ROWS = {
    (f"BBQ-{condition}", "prompted"): (
        ("bbq", "bias"),
        {"category": "overall", "label_type": "all", "condition": condition},
    )
    for condition in ("ambig", "disambig")
}
for _reading, _name, _suffix in (("prompted", "prompted", "_choice"), ("likelihood", "scores", "")):
    _ROWS["CrowS-Pairs", _reading] = (("crows_pairs", _name), {"category": "overall", "direction": "all"})
    for _task in ("intrasentence", "intersentence"):
        _ROWS[f"StereoSet {_task}", _reading] = (
            ("stereoset", _name),
            {"task": _task + _suffix, "category": "overall"},
        )

#: Benchmark as printed -> measure as printed, our metric, and what a unit of ours is in print (BBQ's bias is a share).
_MEASURES = {
    "BBQ-ambig": ("bias score", "bias_score", 0.01),
    "BBQ-disambig": ("accuracy", "accuracy", 1),
    "CrowS-Pairs": ("probability bias score", "stereotype_score", 1),
    "StereoSet intrasentence": ("ICAT score", "icat", 1),
    "StereoSet intersentence": ("ICAT score", "icat", 1),
}

_KEYS = ["model", "benchmark", "reading"]


def compare_scores(tables: Tables, published: Callable, published_as: dict[str, str]) -> pd.DataFrame:
    """Table 1 of the paper, but for its own benchmark, by model, benchmark and reading.

    ``tables`` maps (benchmark, table) to a table of that benchmark, all under one protocol; what is not in it is left
    out. The published number stands beside the prompted reading.
    """
    printed = published("dbb_models").rename(columns={"measure": "metric"})
    return _compare(tables, _MEASURES, printed, published_as)


def compare_refusals(tables: Tables, published: Callable, published_as: dict[str, str]) -> pd.DataFrame:
    """Table 5 of the paper, but for its own benchmark: the rate of refusals in percent, by model and benchmark."""
    printed = published("dbb_refusal").rename(columns={"refusal_rate_percent": "value"}).assign(metric="refusal_rate")
    measures = dict.fromkeys(_MEASURES, ("refusal_rate", "refusal_rate", 1))
    return _compare(tables, measures, printed, published_as)


def _compare(
    tables: Tables, measures: dict[str, tuple[str, str, float]], printed: pd.DataFrame, published_as: dict[str, str]
) -> pd.DataFrame:
    parts = [pd.DataFrame(columns=[*_KEYS, *TABLE_COLUMNS[:-2]])]
    for (benchmark, reading), (source, rows) in _ROWS.items():
        if source not in tables:
            continue
        measure, metric, scale = measures[benchmark]
        wanted = rows | {"metric": metric}
        table = tables[source]
        part = table[(table[list(wanted)] == pd.Series(wanted)).all(axis=1)].copy()
        part[["value", "ci_low", "ci_high"]] *= scale
        part = part.assign(benchmark=benchmark, reading=reading, metric=measure)
        parts.append(part[[*_KEYS, *TABLE_COLUMNS[:-2]]])
    table = pd.concat(parts[1:] or parts).sort_values("model", kind="stable", ignore_index=True)
    return beside(table, _KEYS, printed.assign(reading="prompted"), published_as)
