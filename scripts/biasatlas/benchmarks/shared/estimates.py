"""Rows of tables: estimates with counts of the units left out, rates of answers, and bounds for missing answers."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.columns import CASES, MASSES, NO_VALUE, STOPPED, TABLE_COLUMNS
from biasatlas.stats.clusters import cluster_sums, proportion
from biasatlas.stats.intervals import Inference, replicated, within
from biasatlas.stats.replicates import bounded, replicates

if TYPE_CHECKING:
    from biasatlas.stats.intervals import Inference

#: Returns a published table by its name, as strings.
Published = Callable[[str], pd.DataFrame]


@dataclass(frozen=True)
class Estimate:
    """A value, its interval (missing where there is none), the number ``n`` of units behind it, and ``n_clusters``.

    ``no_interval_reason`` says why an estimate from a sample has no interval; it is empty where it has one.
    """

    value: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    n: int = 0
    n_clusters: int = 0
    no_interval_reason: str = ""

    @classmethod
    def of(cls, inference: "Inference", n: int, scale: float = 1.0) -> "Estimate":
        """The estimate in ``inference``, times ``scale`` (100 gives percent), from ``n`` units."""
        value, low, high = (scale * number for number in (inference.value, inference.low, inference.high))
        return cls(value, low, high, n, inference.n_clusters, inference.reason)


@dataclass(frozen=True)
class Counts:
    """How many units have no value, by status (:data:`biasatlas.columns.STATUSES` except "ok").

    ``unparsed`` is the percentage of the responses behind all units that give no answer, missing for likelihoods;
    ``reason`` says why most units without a value have none.
    """

    refused: int = 0
    filtered: int = 0
    thought: int = 0
    ambiguous: int = 0
    unparseable: int = 0
    truncated: int = 0
    failed: int = 0
    not_applicable: int = 0
    unparsed: float = math.nan
    reason: str = ""

    @classmethod
    def of(cls, units: pd.DataFrame, asked: pd.DataFrame | None = None) -> "Counts":
        """Count ``units``, which have a ``status`` and may have a ``detail`` and the columns MASSES.

        ``asked`` are all units, if ``units`` are only those that may lack a value.
        """
        lost = unparsed(units if asked is None else asked)
        if units.empty:  # large tables call this for every cell, and most cells lack nothing
            return cls(unparsed=lost)
        counts = units["status"].value_counts()
        numbers = {name: int(counts.get(name, 0)) for name in NO_VALUE}
        return cls(**numbers, unparsed=lost, reason=_reason(units))

    def without(self, statuses: Iterable[str]) -> "Counts":
        """These counts, with those of ``statuses`` set to 0."""
        return Counts(**asdict(self) | dict.fromkeys(statuses, 0))

    def __add__(self, other: "Counts") -> "Counts":
        numbers = {name: getattr(self, name) + getattr(other, name) for name in NO_VALUE}
        return Counts(**numbers, reason=self.reason or other.reason)


def no_value(row: Mapping[str, Any] | None) -> str:
    """Why a row of a table has no value; empty where it has one. None stands for a row that does not exist."""
    if row is None or not math.isnan(row["value"]):
        return "not measured" if row is None else ""
    reason = row["no_interval_reason"]
    if isinstance(reason, str) and reason not in ("", "no value"):
        return reason
    lost = [name for name in NO_VALUE if name != "not_applicable" and row[name]]
    return f"no answer has a value: {' or '.join(lost)}" if lost else "there is no value"


def unparsed(units: pd.DataFrame) -> float:
    """The percentage of responses behind ``units`` without an answer, by the columns MASSES; missing without these."""
    if units.empty or not set(MASSES) <= set(units):
        return math.nan
    lost = np.sum([units[name].to_numpy(float) for name in MASSES], axis=0)  # ten times as fast as a frame's sum
    known = lost[~np.isnan(lost)]
    return 100 * known.mean() if len(known) else math.nan


def _reason(units: pd.DataFrame) -> str:
    """The most frequent ``detail`` of units without a value, and how many have it; numbers in it may differ."""
    said = units.loc[units["status"] != "ok", "detail"] if "detail" in units else pd.Series(dtype=object)
    said = said[said.notna() & (said != "")].astype(str)
    if said.empty:
        return ""
    alike = said.str.replace(r"\d+", "0", regex=True)
    often = alike == alike.value_counts().index[0]
    return f"{said[often].iloc[0]} ({often.sum()})"


def row(
    keys: Mapping[str, object],
    metric: str,
    estimate: Estimate,
    counts: Counts = Counts(),
    published: str | None = None,
) -> dict[str, object]:
    """One row of a table: ``keys``, then TABLE_COLUMNS. ``published`` is the number as printed, None where none is."""
    return {
        **keys,
        "metric": metric,
        **{name: float(getattr(estimate, name)) for name in ("value", "ci_low", "ci_high")},
        "n": int(estimate.n),
        "n_clusters": int(estimate.n_clusters),
        "no_interval_reason": estimate.no_interval_reason or None,
        "lower_bound": math.nan,
        "upper_bound": math.nan,
        **asdict(counts),
        "reason": counts.reason or None,
        "published": published if isinstance(published, str) else None,
        "difference": float(estimate.value) - float(published) if isinstance(published, str) else math.nan,
    }


def make_table(keys: Sequence[str], rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """``rows`` as a table with the key columns ``keys`` in front, also where there is no row."""
    return pd.DataFrame(list(rows), columns=[*keys, *TABLE_COLUMNS])


def beside(
    table: pd.DataFrame, keys: Sequence[str], printed: pd.DataFrame, published_as: Mapping[str, str]
) -> pd.DataFrame:
    """``table`` with ``published``, the number as printed, and ``difference``, ours minus that; both may be missing.

    ``printed`` has the columns ``keys``, ``metric`` and ``value``; ``published_as`` maps our names of models to its.
    """
    keys = [*keys, "metric"]
    named = table[keys].assign(
        model=pd.Series([published_as.get(name, "") for name in table["model"]], table.index, "str")
    )
    found = named.merge(printed[[*keys, "value"]], on=keys, how="left", validate="many_to_one")["value"].to_numpy()
    difference = table["value"] - pd.to_numeric(pd.Series(found, table.index))
    return table.assign(published=np.where(pd.isna(found), None, found), difference=difference)


def with_missing_answer_bounds(make: Callable[[pd.DataFrame], pd.DataFrame], scores: pd.DataFrame) -> pd.DataFrame:
    """The table that ``make`` makes of ``scores``, with ``lower_bound`` and ``upper_bound``.

    Each bound is the value that ``make`` computes from scores in which every column that has such a case
    (:data:`biasatlas.columns.CASES`) is replaced by it. Missing for a metric that missing answers cannot change.
    """
    table = make(scores)
    keys = [*table.columns[: -len(TABLE_COLUMNS)], "metric"]
    filled = {case: _filled(scores, case) for case in CASES}
    # Most models answer everything, and tables of large benchmarks take seconds to make.
    if all(values.equals(scores[name]) for columns in filled.values() for name, values in columns.items()):
        return table
    values = {}
    for case, columns in filled.items():
        found = table[keys].merge(make(scores.assign(**columns))[[*keys, "value"]], on=keys, how="left", validate="1:1")
        values[case.removeprefix("_")] = found["value"].to_numpy(float)
    ours = table["value"].to_numpy(float)  # without rows, its type is object
    same = np.logical_and.reduce([np.isclose(value, ours, equal_nan=True) for value in values.values()])
    moves = ~pd.Series(same, table.index).groupby(table["metric"]).transform("all")
    return table.assign(**{name: np.where(moves, value, np.nan) for name, value in values.items()})


def filled_cases(scores: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield ``scores`` with missing answers filled in, for each of CASES that changes anything."""
    for case in CASES:
        columns = _filled(scores, case)
        if any(not values.equals(scores[name]) for name, values in columns.items()):
            yield scores.assign(**columns)


def _filled(scores: pd.DataFrame, case: str) -> dict[str, pd.Series]:
    """The columns that have a ``case``, with its values (their own where the case has none)."""
    names = [name for name in scores if name.endswith(case) and scores[name].notna().any()]
    return {name.removesuffix(case): scores[name].fillna(scores[name.removesuffix(case)]) for name in names}


#: Rate -> the columns of scores (probability masses) that it sums.
_RATES = {
    "refusal_rate": ["refused"],
    "ambiguous_rate": ["ambiguous"],
    "unparseable_rate": ["unparseable"],
    "unanswered_rate": ["refused", "ambiguous", "unparseable"],
}


def percentage(values: pd.Series, clusters: pd.Series) -> Estimate:
    """Mean of the known ``values`` (each in [0, 1]) in percent, over ``clusters``; Korn and Graubard's interval."""
    return share(values, values.notna().astype(float), clusters)


def share(value: pd.Series, weight: pd.Series, clusters: pd.Series) -> Estimate:
    """sum(value) / sum(weight) in percent, over rows with both; each row's ratio is in [0, 1]. ``n`` counts rows."""
    top, bottom = value.to_numpy(float), weight.to_numpy(float)
    known = ~np.isnan(top) & (bottom > 0)
    inference = proportion(top[known], bottom[known], clusters.to_numpy()[known])
    return Estimate.of(inference, n=int(known.sum()), scale=100)


def mean_of_means(
    parts: Sequence[pd.Series], clusters: Sequence[Iterable[Hashable]], bounds: tuple[float, float] | None = None
) -> Inference:
    """The mean of the means of ``parts``, with a jackknife interval over their ``clusters``, which they may share.

    Missing values are left out, and clusters without any other value. ``bounds`` are those of a single value: the
    interval is cut there, and if nearly all clusters agree, it allows for what so many could have missed.
    """
    columns = np.zeros((sum(map(len, parts)), 2 * len(parts)))
    for number, (start, part) in enumerate(zip(np.cumsum([0, *map(len, parts)]), parts, strict=False)):
        columns[start : start + len(part), 2 * number] = part.fillna(0)
        columns[start : start + len(part), 2 * number + 1] = part.notna()
    shared = np.concatenate([np.asarray(each) for each in clusters])
    return bounded(replicates(_mean_of_means, cluster_sums(shared, *columns.T), pd.unique(shared)), bounds)


def _mean_of_means(sums: np.ndarray) -> np.ndarray:
    """The mean over parts of sum / number, from ``sums`` of shape (..., 2 * parts)."""
    with np.errstate(invalid="ignore", divide="ignore"):  # a part may have only the cluster that is left out
        return (sums[..., ::2] / sums[..., 1::2]).mean(axis=-1)[..., None]


def kappa_over_items(rows: np.ndarray, kappa: Callable[[np.ndarray], float]) -> Estimate:
    """``kappa`` of ``rows`` (one per item), -1 to 1, with a jackknife interval over items."""
    without_each = [kappa(np.delete(rows, item, axis=0)) for item in range(len(rows))]
    (inference,) = replicated(np.array([kappa(rows)]), np.array(without_each)[:, None])
    return Estimate.of(within(inference, -1, 1), len(rows))


@metric(*_RATES)
def answer_rates(keys: Mapping[str, object], scores: pd.DataFrame, clusters: pd.Series) -> list[dict[str, object]]:
    """Rows of a table: the rates of refused, ambiguous and unparseable answers, and of all three together.

    Answers that a service's filter stopped count as refused, and replies of thinking alone as unparseable; the table's
    columns ``filtered`` and ``thought`` count these separately.

    Each rate is a mean probability (column ``refused``, ``ambiguous``, ``unparseable`` or their sum) in percent (0 to
    100), over the items with any sort of answer, in ``clusters``. Its row does not count what it measures as missing.
    """
    counts = Counts.of(scores)
    return [
        row(
            keys,
            rate,
            percentage(scores[masses].sum(axis=1, skipna=False), clusters),
            counts.without([*masses, *(status for status, mass in STOPPED.items() if mass in masses)]),
        )
        for rate, masses in _RATES.items()
    ]
