"""Tables of agreement among annotators (Table 10) and of a judge with people (Table 13), from files of the user's own.

The paper's annotations are not published. docs/mcbe.md describes both formats.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from biasatlas.benchmarks.mcbe import CATEGORIES, CATEGORY_NAMES
from biasatlas.errors import UserError
from biasatlas.files import TABLE_COLUMNS, read_csv
from biasatlas.stats.intervals import MIN_UNITS, percentile, wilson

Published = Callable[[str], pd.DataFrame]

_RESAMPLES = 1000
#: Lower bounds of Table 4's levels: 0 to 1, to 3, to 5, to 8, to 10; only the last holds its upper bound.
_LEVELS = (1, 3, 5, 8)
_WINNERS = ("a", "b", "tie")


def annotator_agreement(
    path: str | Path, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Table 10: Fleiss' kappa of the severity level by category, with a bootstrap interval over items, and their mean.

    The CSV has a row per annotation: ``category``, ``item_id``, ``rater``, ``severity`` (0 to 10), the same number of
    raters for every item of a category. Raises :class:`UserError` naming file, row and column.
    """
    rows = _read(path, ("category", "item_id", "rater", "severity"))
    _expect(path, rows, "category", rows["category"].isin(CATEGORIES), f"one of {', '.join(CATEGORIES)}")
    severity = pd.to_numeric(rows["severity"], errors="coerce")
    _expect(path, rows, "severity", severity.between(0, 10), "a number from 0 to 10")
    twice = rows.duplicated(["category", "item_id", "rater"])
    _expect(path, rows, "rater", ~twice, "one annotation per item and rater")
    level = np.digitize(severity, _LEVELS)
    printed = published("mcbe_fleiss_kappa").set_index("category")["fleiss_kappa"]
    table = []
    for category in [name for name in CATEGORIES if name in set(rows["category"])]:
        mine = rows["category"] == category
        raters = rows[mine].assign(level=level[mine]).groupby("item_id", sort=False)["level"].agg(list)
        if raters.map(len).nunique() > 1:
            raise UserError(f"{path}: {category} has items with different numbers of raters. Complete or remove them.")
        counts = aggregate_raters(np.array(raters.tolist()), n_cat=len(_LEVELS) + 1)[0]
        interval = _kappa_interval(counts)
        table.append(
            _row(
                {"category": category},
                "fleiss_kappa",
                _kappa(counts),
                interval,
                len(counts),
                printed[CATEGORY_NAMES[category]],
            )
        )
    mean = np.mean([row["value"] for row in table])
    table.append(_row({"category": "mean"}, "fleiss_kappa", mean, (np.nan, np.nan), len(table), "0.67"))
    return pd.DataFrame(table, columns=["category", *TABLE_COLUMNS])


def judge_agreement(
    path: str | Path, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Table 13: share of answers (%) on which judge and people prefer the same of two models, and the mean over pairs.

    The CSV has a row per pair of answers: ``model_a``, ``model_b``, ``item_id``, ``judge`` and ``human``, each of them
    a, b or tie. Ties agree with ties alone. Wilson's interval. A printed rate stands beside a pair of models that bear
    the paper's names, or are configured as ``published_as`` such.
    """
    rows = _read(path, ("model_a", "model_b", "item_id", "judge", "human"))
    for column in ("judge", "human"):
        _expect(path, rows, column, rows[column].isin(_WINNERS), "a, b or tie")
    printed = {
        frozenset((row.model_a, row.model_b)): row.consistent_rate_percent
        for row in published("mcbe_judge_agreement").itertuples()
    }
    table = []
    for (one, other), pair in rows.groupby(["model_a", "model_b"], sort=False):
        same = int((pair["judge"] == pair["human"]).sum())
        interval = tuple(100 * np.array(wilson(same, len(pair))))
        keys = {"model_a": one, "model_b": other}
        rate = printed.get(frozenset(published_as.get(name, name) for name in (one, other)))
        table.append(_row(keys, "agreement_percent", 100 * same / len(pair), interval, len(pair), rate))
    mean = np.mean([row["value"] for row in table])
    keys = {"model_a": "mean", "model_b": "mean"}
    table.append(_row(keys, "mean_agreement_percent", mean, (np.nan, np.nan), len(table), "83.7"))
    return pd.DataFrame(table, columns=["model_a", "model_b", *TABLE_COLUMNS])


def _read(path: str | Path, columns: tuple[str, ...]) -> pd.DataFrame:
    rows = read_csv(path, **dict.fromkeys(columns, "str"))
    missing = [column for column in columns if column not in rows]
    if missing or rows.empty:
        raise UserError(f"{path}: {f'no column {missing[0]!r}' if missing else 'no rows'}. Expected {list(columns)}.")
    for column in columns:
        _expect(path, rows, column, rows[column].notna(), "a value")
    return rows


def _expect(path: str | Path, rows: pd.DataFrame, column: str, good: pd.Series, expected: str) -> None:
    if not good.all():
        place = int(np.argmin(good))
        raise UserError(f"{path}, row {place + 2}, column {column}: {rows[column].iloc[place]!r}. Expected {expected}.")


def _kappa(counts: np.ndarray) -> float:
    """Fleiss' kappa; missing where all annotations are of one level, for chance then agrees fully, too."""
    return float(fleiss_kappa(counts)) if (counts.sum(axis=0) > 0).sum() > 1 else float("nan")


def _kappa_interval(counts: np.ndarray) -> tuple[float, float]:
    if len(counts) < MIN_UNITS:
        return np.nan, np.nan
    draws = np.random.default_rng(0).integers(len(counts), size=(_RESAMPLES, len(counts)))
    return tuple(percentile(np.array([_kappa(counts[draw]) for draw in draws])))


def _row(keys: dict, metric: str, value: float, interval: tuple[float, float], n: int, published: str | None) -> dict:
    return keys | {
        "metric": metric,
        "value": value,
        "ci_low": interval[0],
        "ci_high": interval[1],
        "n": n,
        "refused": 0,
        "unparseable": 0,
        "missing": 0,
        "published": published,
        "difference": value - float(published) if isinstance(published, str) else np.nan,
    }
