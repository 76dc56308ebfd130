"""Share of stereotypical preferences, by bias type and direction."""

from collections.abc import Callable

import pandas as pd

from biasatlas.benchmarks.shared.estimates import beside, count_statuses
from biasatlas.files import TABLE_COLUMNS
from biasatlas.stats.intervals import wilson

_KEYS = ["model", "category", "direction"]


def _scores(scores: pd.DataFrame, protocol: dict, published: Callable, published_as: dict) -> pd.DataFrame:
    """Table 2 of the paper: by bias type, and over all pairs by direction."""
    table = _table(scores, {"stereotype_score": "stereotyped", "tie_rate": "tie"})
    return beside(table, _KEYS, published("crows_pairs_models"), published_as)


def _prompted(scores: pd.DataFrame, protocol: dict, published: Callable, published_as: dict) -> pd.DataFrame:
    """The same for prompted choices; the authors published none."""
    table = _table(scores, {"stereotype_score": "stereotyped", "refusal_rate": "refused"})
    return beside(table, _KEYS)


TABLES = {"scores": _scores, "prompted": _prompted}


def _table(scores: pd.DataFrame, metrics: dict[str, str]) -> pd.DataFrame:
    scores = pd.concat([scores, scores.assign(category="overall")])
    scores = pd.concat([scores.assign(direction="all"), scores])
    rows = []
    for key, group in scores.groupby(_KEYS, sort=False):
        counts = count_statuses(group["status"])
        for metric, column in metrics.items():
            left_out = counts | {"refused": 0} if metric == "refusal_rate" else counts
            rows.append(dict(zip(_KEYS, key, strict=True)) | {"metric": metric} | _share(group[column]) | left_out)
    table = pd.DataFrame(rows, columns=[*_KEYS, *TABLE_COLUMNS[:-2]])
    return table.sort_values("model", kind="stable", ignore_index=True)


def _share(values: pd.Series) -> dict:
    """Mean of the known ``values`` in percent with a 95 % Wilson interval: pairs are independent of each other."""
    values = values.dropna().astype(float)
    low, high = wilson(values.sum(), len(values))
    return {"value": 100 * values.mean(), "ci_low": 100 * low, "ci_high": 100 * high, "n": len(values)}
