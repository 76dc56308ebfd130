"""The table kit: an estimate, with what is not in it counted beside it, as a row; rows as a table."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biasatlas.columns import MASSES, NO_VALUE, TABLE_COLUMNS

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
    def of(cls, units: pd.DataFrame) -> "Counts":
        """Of units with a ``status``, and where they have them a ``detail`` and the columns MASSES."""
        if units.empty:  # a table of many cells asks of each, and most lack nothing
            return cls()
        counts = units["status"].value_counts()
        numbers = {name: int(counts.get(name, 0)) for name in NO_VALUE}
        return cls(**numbers, unparsed=unparsed(units), reason=_reason(units))

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
