"""Means, ratios and rates of clustered samples, with intervals that keep their coverage with few clusters.

The variance is CR2 (Bell and McCaffrey 2002): each cluster's residual is enlarged for its leverage (``pull``), so that
the variance is unbiased if the variance of a cluster's sum is proportional to its size. Student's degrees of freedom
are theirs, too: unequal clusters give fewer. No maintained Python library has either. statsmodels has HC2, the special
case of one row per cluster, and pyfixest the two-way and the jackknife form; tests compare with these.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasatlas.stats import Array
from biasatlas.stats.intervals import (
    NO_DIFFERENCE,
    Inference,
    clopper_pearson,
    effective_number,
    quantile,
    student,
    too_few,
    within,
    without,
)

#: A rate is rare if it, or 1 minus it, is below this share, and fewer than this many clusters would hold all of it. Its
#: variance then says little: the clusters that make up the rate may be missing from the sample. The variance of other
#: rates can be trusted from five clusters on.
_RARE_SHARE, _RARE = 0.1, 5

#: Nearly all clusters agree if the effective number of clusters behind a variance is below this, and below this share
#: of all clusters (in normal samples it is a third).
_FEW, _FEW_SHARE = 10, 1 / 6


@dataclass(frozen=True)
class _Clustered:
    """Numerators and denominators by cluster, the ratio of their sums, and each cluster's part of its variance."""

    numerators: Array
    denominators: Array
    value: float
    parts: Array
    df: float

    @property
    def n_clusters(self) -> int:
        return len(self.denominators)

    @property
    def variance(self) -> float:
        return float(self.parts.sum())


def cluster_sums(clusters: ArrayLike, *values: ArrayLike) -> Array:
    """Sums of ``values`` by cluster, (clusters, values), in the order in which clusters first occur; NaN adds nothing.

    ``clusters`` are labels of any sort; a row with a missing label is left out.
    """
    codes, names = pd.factorize(np.asarray(clusters))
    known = codes >= 0
    columns = [np.nan_to_num(np.asarray(column, float))[known] for column in values]
    return np.column_stack([np.bincount(codes[known], column, len(names)) for column in columns])


def _clustered(numerator: ArrayLike, denominator: ArrayLike, clusters: ArrayLike) -> _Clustered:
    top, bottom = np.asarray(numerator, float), np.asarray(denominator, float)
    known = np.isfinite(top) & np.isfinite(bottom)
    sums = cluster_sums(np.asarray(clusters)[known], top[known], bottom[known])
    sums = sums[sums[:, 1] > 0]
    y, w = sums[:, 0], sums[:, 1]
    total = w.sum()
    if not total > 0:
        return _Clustered(y, w, np.nan, np.array([np.nan]), np.nan)
    value, pull = y.sum() / total, w / total
    with np.errstate(divide="ignore", invalid="ignore"):
        enlarged = 1 / (1 - pull)
        residuals = y - value * w
        # Rounding makes equal clusters differ in their last digits; that is no variance.
        residuals[np.abs(residuals) < 1e-12 * (np.abs(y) + np.abs(value) * w + 1e-300)] = 0.0
        parts = residuals**2 * enlarged / total**2
        # tr(B)^2 / tr(B^2) of Bell and McCaffrey's B, whose diagonal is w and whose other elements are products.
        products = w**2 * enlarged
        trace_of_square = (w**2).sum() + (products.sum() ** 2 - (products**2).sum()) / total**2
        df = total**2 / trace_of_square
    return _Clustered(y, w, float(value), parts, float(df))


def ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    clusters: ArrayLike,
    bounds: tuple[float, float] | None = None,
) -> Inference:
    """Sum of ``numerator`` over sum of ``denominator`` (0 or more; ones give a mean), rows in ``clusters``.

    CR2 with Bell-McCaffrey degrees of freedom. ``bounds`` limit the ratio of a single row: the interval is cut there.
    If nearly all clusters agree, it is widened to Clopper and Pearson's with one unit per cluster, so that agreement of
    a few clusters does not look certain. Rows with a missing value and clusters without weight are left out.
    """
    sample = _clustered(numerator, denominator, clusters)
    found = student(sample.value, sample.variance, sample.df, sample.n_clusters)
    return agreeing(found, sample.numerators / max(sample.denominators.sum(), 1e-300), sample.parts, bounds)


def agreeing(found: Inference, own: Array, parts: Array, bounds: tuple[float, float] | None) -> Inference:
    """``found``, cut at ``bounds`` and, if nearly all clusters agree, widened to an exact interval of as many units.

    ``own`` is what each cluster adds to the value, ``parts`` to its variance. Without ``bounds`` nothing changes.
    """
    if bounds is None or found.reason not in ("", NO_DIFFERENCE):
        return found
    if found.reason or effective_number(parts) < min(_FEW, _FEW_SHARE * found.n_clusters):
        low, high = _exact(found.value, own, *bounds)
        found = replace(found, low=np.fmin(found.low, low), high=np.fmax(found.high, high), reason="")
    return within(found, *bounds)


def _exact(value: float, own: Array, low: float, high: float) -> tuple[float, float]:
    """Clopper and Pearson's interval with one unit per cluster: of a share, or of the parts on either side of 0."""
    n = len(own)
    if not low < 0 < high:
        share = clopper_pearson(n * (value - low) / (high - low), n)
        return low + (high - low) * share[0], low + (high - low) * share[1]
    above = clopper_pearson(n * np.maximum(own, 0).sum() / high, n)
    below = clopper_pearson(n * np.maximum(-own, 0).sum() / -low, n)
    return above[0] * high + below[1] * low, above[1] * high + below[0] * low


def proportion(successes: ArrayLike, trials: ArrayLike, clusters: ArrayLike) -> Inference:
    """A rate, which may be rare: sum of ``successes`` over sum of ``trials``, 0 to 1, rows in ``clusters``."""
    sample = _clustered(successes, trials, clusters)
    return rate(sample.value, sample.variance, sample.df, sample.n_clusters)


def rate(value: float, variance: float, df: float, clusters: int) -> Inference:
    """A share, 0 to 1, with Korn and Graubard's interval (1998).

    That is Clopper and Pearson's at the effective sample size: the size of an independent sample with this variance.
    For a rare rate that is at most the number of clusters, and coverage is often nearly 1.
    """
    reason = too_few(clusters) if np.isfinite(value) else "no value"
    if reason:
        return without(value, clusters, reason)
    n = _units(value, variance, df, clusters)
    low, high = clopper_pearson(value * n, n)
    return Inference(value, float(np.sqrt(variance)), df, low, high, clusters)


def _units(p: float, variance: float, df: float, clusters: int) -> float:
    """The effective sample size: the size of an independent sample in which the rate would vary as much."""
    n = float(clusters)
    if not (variance > 0 and 0 < p < 1):
        return n
    units = p * (1 - p) / variance
    units *= (quantile(units - 1) / quantile(df)) ** 2
    rarer = min(p, 1 - p)
    return min(units, n) if rarer < _RARE_SHARE and n * rarer < _RARE else units
