"""The table kit: an estimate, with what is not in it counted beside it, as a row; rows as a table."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from biasatlas.columns import TABLE_COLUMNS

if TYPE_CHECKING:
    from biasatlas.stats.intervals import Inference

#: Reads a printed table by its name, as strings.
Published = Callable[[str], pd.DataFrame]


@dataclass(frozen=True)
class Estimate:
    """A value with its interval (missing where there is none), ``n``, the units behind it, and ``clusters``.

    ``no_interval`` says why an estimate from a sample has no interval; it is empty where it has one.
    """

    value: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    n: int = 0
    clusters: int = 0
    no_interval: str = ""

    @classmethod
    def of(cls, inference: "Inference", n: int, scale: float = 1.0) -> "Estimate":
        """``inference`` in another unit (``scale`` 100 for percent), from ``n`` units."""
        value, low, high = (scale * number for number in (inference.value, inference.low, inference.high))
        return cls(value, low, high, n, inference.clusters, inference.reason)


@dataclass(frozen=True)
class Counts:
    """Units without a value, by what became of them: the statuses of :data:`biasatlas.columns.STATUSES` but "ok"."""

    refused: int = 0
    ambiguous: int = 0
    unparseable: int = 0
    truncated: int = 0
    failed: int = 0
    not_applicable: int = 0

    @classmethod
    def of(cls, status: pd.Series) -> "Counts":
        """Of units with these statuses."""
        counts = status.value_counts()
        return cls(**{field.name: int(counts.get(field.name, 0)) for field in fields(cls)})

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(**{name: count + getattr(other, name) for name, count in asdict(self).items()})


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
        "clusters": int(estimate.clusters),
        "no_interval": estimate.no_interval or None,
        **asdict(counts),
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
    named = table[keys].assign(model=[published_as.get(name, "") for name in table["model"]])
    found = named.merge(printed[[*keys, "value"]], on=keys, how="left", validate="many_to_one")["value"].to_numpy()
    difference = table["value"] - pd.to_numeric(pd.Series(found, table.index))
    return table.assign(published=np.where(pd.isna(found), None, found), difference=difference)
