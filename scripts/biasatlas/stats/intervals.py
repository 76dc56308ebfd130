"""Standard errors, degrees of freedom and intervals of estimates, or the reason why one has no interval."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from biasatlas.stats import Array

#: With fewer clusters, no interval of this module has its nominal coverage.
MIN_CLUSTERS = 5

#: The reasons for no interval if an estimate does not vary, and if it needs each of some clusters; and the standard
#: error below which variation is rounding.
NO_DIFFERENCE = "the clusters do not differ"
NEEDED = "without one of the clusters there is no value"
_ROUNDING = 1e-10

#: Nominal coverage of every interval.
CONFIDENCE = 0.95
#: The coverage now in use. For a model asked in rounds it is higher, so that intervals hold the value in every round.
_NOMINAL: ContextVar[float] = ContextVar("nominal", default=CONFIDENCE)


@contextmanager
def confidence(nominal: float) -> Iterator[None]:
    """Give every interval that is computed inside the block this coverage, 0 to 1."""
    before = _NOMINAL.set(nominal)
    try:
        yield
    finally:
        _NOMINAL.reset(before)


@dataclass(frozen=True)
class Inference:
    """A value with its standard error, degrees of freedom of Student's t, and 95% interval from ``n_clusters``
    clusters.

    Unknown numbers are NaN. ``reason`` says why there is no interval; it is empty where there is one. No interval has
    zero width.
    """

    value: float
    se: float = math.nan
    df: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n_clusters: int = 0
    reason: str = ""

    def p_value(self, null: float = 0.0) -> float:
        """Two-sided p-value of Student's test that the value is ``null``; missing without an interval."""
        if self.reason or not self.se > 0:
            return math.nan
        return float(2 * scipy.special.stdtr(self.df, -abs(self.value - null) / self.se))


def without(value: float, clusters: int, reason: str) -> Inference:
    """An estimate that has no interval."""
    return Inference(value, n_clusters=clusters, reason=reason)


def too_few(clusters: int) -> str:
    """The reason where there are too few ``clusters`` for an interval, else empty."""
    if clusters >= MIN_CLUSTERS:
        return ""
    return f"{clusters} cluster{'' if clusters == 1 else 's'}, {MIN_CLUSTERS} are needed"


def student(value: float, variance: float, df: float, clusters: int) -> Inference:
    """``value`` with the interval of Student's t on ``df`` degrees of freedom (at least 1)."""
    reason = too_few(clusters) if math.isfinite(value) else "no value"
    if not reason and not math.isfinite(variance):
        reason = NEEDED
    if not reason and not (variance > _ROUNDING**2 and df > 0):
        reason = NO_DIFFERENCE
    if reason:
        return without(value, clusters, reason)
    se = math.sqrt(variance)
    half = se * quantile(df)
    return Inference(value, se, df, value - half, value + half, clusters)


def quantile(df: float) -> float:
    """The quantile of Student's t for an interval's upper limit, on ``df`` degrees of freedom (at least 1)."""
    return float(scipy.special.stdtrit(max(df, 1.0), (1 + _NOMINAL.get()) / 2))


def smallest_findable(se: float, df: float, power: float = 0.8) -> float:
    """The distance from the null that a two-sided test at the level of 5% finds with ``power``: (t.975 + t.power) SE.

    Simulated power is 0.79 to 0.82 from five clusters on; with 2.8 SE it would be 0.49 to 0.71 below ten clusters.
    """
    df = max(df, 1.0)
    return float((quantile(df) + scipy.special.stdtrit(df, power)) * se)


def clopper_pearson(successes: float, n: float) -> tuple[float, float]:
    """The exact binomial interval of a share: (low, high) in 0 to 1; missing where ``n`` is 0.

    Neither number need be whole: the effective size of a clustered sample is not, and the Beta distribution allows it.
    """
    if not n > 0:
        return math.nan, math.nan
    tail = (1 - _NOMINAL.get()) / 2
    failures = max(n - successes, 0.0)
    low = scipy.special.betaincinv(successes, failures + 1, tail) if successes > 0 else 0.0
    high = scipy.special.betaincinv(successes + 1, failures, 1 - tail) if failures > 0 else 1.0
    # For a tiny fraction of a success, the limit may be the smallest float there is; it means 0.
    return float(low) if low > 1e-12 else 0.0, float(high)


def minimum(first: Inference, second: Inference) -> Inference:
    """The smaller of two estimates: its interval goes from the smaller lower to the smaller upper limit.

    It has no standard error: the minimum of two smooth functions has none where they cross.
    """
    value = min(first.value, second.value)
    reason = first.reason or second.reason
    if reason:
        return without(value, first.n_clusters, reason)
    return Inference(
        value, low=min(first.low, second.low), high=min(first.high, second.high), n_clusters=first.n_clusters
    )


def rank_correlation(first: ArrayLike, second: ArrayLike) -> Inference:
    """Spearman's correlation of two columns, with Bonett and Wright's interval (2000): Fisher's z, variance (1 + r^2 /
    2) / (n - 3).

    There is no interval for fewer than :data:`MIN_CLUSTERS` pairs, equal or reversed ranks, or a constant column.
    """
    ranks = [scipy.stats.rankdata(column) for column in (first, second)]
    n = len(ranks[0])
    if min(np.ptp(column) if n else 0.0 for column in ranks) == 0:
        return without(math.nan, n, "nothing to rank")
    value = float(np.corrcoef(*ranks)[0, 1])
    if too_few(n) or abs(value) > 1 - 1e-12:
        return without(value, n, too_few(n) or "the ranks agree entirely")
    half = float(scipy.special.ndtri((1 + _NOMINAL.get()) / 2)) * math.sqrt((1 + value**2 / 2) / (n - 3))
    centre = math.atanh(value)
    return Inference(value, low=math.tanh(centre - half), high=math.tanh(centre + half), n_clusters=n)


def crossed(parts: Mapping[tuple[str, ...], Inference]) -> Inference:
    """One estimate under crossed factors (Cameron, Gelbach and Miller 2011), from its inference by each set of them.

    ``parts`` maps every non-empty set of factors, a tuple of names, to the inference whose clusters are the rows that
    agree in all of these. The variance is the sum of those of sets of odd size, less those of sets of even size, and at
    least the largest by a single factor. Degrees of freedom are Satterthwaite's for two terms: the variance by the
    factor with the fewest of them, and what the others add, at the next fewest. If the others are nested in that
    factor, they are its own. The number of clusters is that of the factor with the fewest.
    """
    alone = [part for factors, part in parts.items() if len(factors) == 1]
    value, clusters = alone[0].value, min(part.n_clusters for part in alone)
    for part in alone:
        if part.reason:
            return without(value, clusters, part.reason)
    if len(alone) == 1:
        return alone[0]
    coarse, fine, *_ = sorted(alone, key=lambda part: part.df)
    signed = sum((-1) ** (len(factors) + 1) * np.nan_to_num(part.se) ** 2 for factors, part in parts.items())
    one = coarse.se**2
    variance = max(signed, *(part.se**2 for part in alone))
    df = variance**2 / (one**2 / coarse.df + (variance - one) ** 2 / fine.df)
    return student(value, variance, df, clusters)


def within(inference: Inference, low: float, high: float) -> Inference:
    """``inference`` with its interval cut at ``low`` and ``high``, the limits of the value itself."""
    return replace(inference, low=max(inference.low, low), high=min(inference.high, high))


def effective_number(squares: Array) -> float:
    """The effective number of clusters behind a variance, from their parts of it: (sum)^2 / sum of squares."""
    total = float((squares**2).sum())
    return float(squares.sum()) ** 2 / total if total > 0 else 0.0


#: Turns sums, (..., sums), into values, (..., values), for many sets of sums at once.
Statistic = Callable[[Array], Array]


def jackknife(statistic: Statistic, sums: Array) -> list[Inference]:
    """The ``statistic`` of the totals of ``sums``, (clusters, sums), with t-intervals; df is the clusters less 1.

    The variance is the delete-a-group jackknife's: (G - 1) / G times the sum of the squared changes when one cluster is
    left out. Below ten clusters, its intervals for a mean or ratio are a little narrow;
    :func:`biasatlas.stats.clusters.ratio` is better there. Clusters whose sums are all 0 are left out.
    """
    sums = np.asarray(sums, float)
    sums = sums[(sums != 0).any(axis=1)]
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.atleast_1d(statistic(total))
        return replicated(values, statistic(total - sums))


def replicated(values: Array, without_each: Array) -> list[Inference]:
    """Jackknife inference of ``values`` from ``without_each``, (clusters, values): the values without each cluster."""
    count = len(without_each)
    variances = (count - 1) / max(count, 1) * ((without_each - values) ** 2).sum(axis=0)
    scale = np.maximum(np.abs(values), 1e-300)
    variances = np.where(variances <= (1e-12 * scale) ** 2, 0.0, variances)
    return [
        student(float(value), float(variance), count - 1, count)
        for value, variance in zip(values, variances, strict=True)
    ]
