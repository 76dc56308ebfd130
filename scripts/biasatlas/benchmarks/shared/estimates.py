"""The table kit: an estimate, with what is not in it counted beside it, as a row; rates of answers; missing answers."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.columns import CASES, MASSES, NO_VALUE, STOPPED, TABLE_COLUMNS
from biasatlas.stats.clusters import agreeing, cluster_sums, proportion
from biasatlas.stats.intervals import Inference, replicated, within
from biasatlas.stats.replicates import replicates

if TYPE_CHECKING:
    from biasatlas.stats.intervals import Inference

#: Reads a printed table by its name, as strings.
Published = Callable[[str], pd.DataFrame]


@dataclass(frozen=True)
class Estimate:
    """A value with its interval (missing where there is none), ``n``, the units behind it, and ``n_clusters``.

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
        """``inference`` in another unit (``scale`` 100 for percent), from ``n`` units."""
        value, low, high = (scale * number for number in (inference.value, inference.low, inference.high))
        return cls(value, low, high, n, inference.n_clusters, inference.reason)


@dataclass(frozen=True)
class Counts:
    """Units without a value, by their outcome (:data:`biasatlas.columns.STATUSES` but "ok"), and what is known beyond.

    ``unparsed`` is the percentage of the answers behind all units that gave none, missing where nothing was answered in
    words; ``reason`` says why most units without a value have none.
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
        """Of units with a ``status``, and where they have them a ``detail`` and the columns MASSES.

        ``asked`` are all units, where ``units`` are but those that may lack a value.
        """
        lost = unparsed(units if asked is None else asked)
        if units.empty:  # a table of many cells asks of each, and most lack nothing
            return cls(unparsed=lost)
        counts = units["status"].value_counts()
        numbers = {name: int(counts.get(name, 0)) for name in NO_VALUE}
        return cls(**numbers, unparsed=lost, reason=_reason(units))

    def without(self, statuses: Iterable[str]) -> "Counts":
        """The same, none of these statuses among them."""
        return Counts(**asdict(self) | dict.fromkeys(statuses, 0))

    def __add__(self, other: "Counts") -> "Counts":
        numbers = {name: getattr(self, name) + getattr(other, name) for name in NO_VALUE}
        return Counts(**numbers, reason=self.reason or other.reason)


def no_value(row: Mapping[str, Any] | None) -> str:
    """Why a row of a table has no value, or is not there (None); empty where it has one."""
    if row is None or not math.isnan(row["value"]):
        return "not measured" if row is None else ""
    reason = row["no_interval_reason"]
    if isinstance(reason, str) and reason not in ("", "no value"):
        return reason
    lost = [name for name in NO_VALUE if name != "not_applicable" and row[name]]
    return f"no answer has a value: {' or '.join(lost)}" if lost else "there is no value"


def unparsed(units: pd.DataFrame) -> float:
    """The percentage of the answers behind ``units`` that gave none, by the columns MASSES; missing without them."""
    if units.empty or not set(MASSES) <= set(units):
        return math.nan
    lost = np.sum([units[name].to_numpy(float) for name in MASSES], axis=0)  # a tenth of the time of a frame's
    known = lost[~np.isnan(lost)]
    return 100 * known.mean() if len(known) else math.nan


def _reason(units: pd.DataFrame) -> str:
    """The most frequent ``detail`` of units without a value, whatever numbers are in it, and of how many it is."""
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
    """``table`` with ``published``, the number as printed, and ``difference``, ours minus it; missing where none was.

    ``printed`` has the columns ``keys``, ``metric`` and ``value``; its ``model`` is ours by ``published_as``.
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

    Each is what the same function makes of scores whose columns with such a case (:data:`biasatlas.columns.CASES`) are
    replaced by it. Missing for a metric that no answer could change, or that has no such columns behind it.
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
    ours = table["value"].to_numpy(float)  # of a table without rows it is an object
    same = np.logical_and.reduce([np.isclose(value, ours, equal_nan=True) for value in values.values()])
    moves = ~pd.Series(same, table.index).groupby(table["metric"]).transform("all")
    return table.assign(**{name: np.where(moves, value, np.nan) for name, value in values.items()})


def filled_cases(scores: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """``scores`` in each case that changes anything."""
    for case in CASES:
        columns = _filled(scores, case)
        if any(not values.equals(scores[name]) for name, values in columns.items()):
            yield scores.assign(**columns)


def _filled(scores: pd.DataFrame, case: str) -> dict[str, pd.Series]:
    """The columns that ``case`` could have moved, as they would be then."""
    names = [name for name in scores if name.endswith(case) and scores[name].notna().any()]
    return {name.removesuffix(case): scores[name].fillna(scores[name.removesuffix(case)]) for name in names}


#: Rate -> the columns of scores, probability masses, that it adds up.
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
    """sum(value) / sum(weight) in percent, of rows with both, whose ratio is in [0, 1]; ``n`` counts rows."""
    top, bottom = value.to_numpy(float), weight.to_numpy(float)
    known = ~np.isnan(top) & (bottom > 0)
    inference = proportion(top[known], bottom[known], clusters.to_numpy()[known])
    return Estimate.of(inference, n=int(known.sum()), scale=100)


def mean_of_means(
    parts: Sequence[pd.Series], clusters: Sequence[Iterable[Hashable]], bounds: tuple[float, float] | None = None
) -> Inference:
    """The mean of the means of ``parts``, with a jackknife's interval over their ``clusters``, which they may share.

    A missing value is left out of its part; its cluster is not. ``bounds`` are what a single value can be: the interval
    is cut there, and where nearly all clusters agree it is as wide as what as many can hide.
    """
    columns = np.zeros((sum(map(len, parts)), 2 * len(parts)))
    for number, (start, part) in enumerate(zip(np.cumsum([0, *map(len, parts)]), parts, strict=False)):
        columns[start : start + len(part), 2 * number] = part.fillna(0)
        columns[start : start + len(part), 2 * number + 1] = part.notna()
    shared = np.concatenate([np.asarray(each) for each in clusters])
    made = replicates(_mean_of_means, cluster_sums(shared, *columns.T), pd.unique(shared))
    return agreeing(made.inference(), made.own(), made.parts(), bounds)


def _mean_of_means(sums: np.ndarray) -> np.ndarray:
    """Mean over parts of sum / number, of ``sums`` (..., 2 parts)."""
    with np.errstate(invalid="ignore", divide="ignore"):  # a part of one cluster, left out
        return (sums[..., ::2] / sums[..., 1::2]).mean(axis=-1)[..., None]


def kappa_over_items(rows: np.ndarray, kappa: Callable[[np.ndarray], float]) -> Estimate:
    """``kappa`` of ``rows`` (an item each), -1 to 1, with a jackknife's interval over items."""
    without_each = [kappa(np.delete(rows, item, axis=0)) for item in range(len(rows))]
    (inference,) = replicated(np.array([kappa(rows)]), np.array(without_each)[:, None])
    return Estimate.of(within(inference, -1, 1), len(rows))


@metric(*_RATES)
def answer_rates(keys: Mapping[str, object], scores: pd.DataFrame, clusters: pd.Series) -> list[dict[str, object]]:
    """Rows of a table: rates at which prompts were refused, answered with several options, not read, and all of these.

    What a service's filter stopped is refused too, and what a model only thought is not read; the columns ``filtered``
    and ``thought`` of a table count each alone.

    Each is the mean probability (column ``refused``, ``ambiguous``, ``unparseable`` or their sum) over the items that
    have an answer of any sort, in percent (0 to 100), over ``clusters``. What a rate measures is not left out of it.
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
