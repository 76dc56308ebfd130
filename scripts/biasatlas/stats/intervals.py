"""Confidence intervals: Wilson's of a proportion, and the bootstrap's."""

import warnings
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from biasatlas.stats import Array

#: Below this many units a percentile interval is far too short to be shown; callers leave it missing.
MIN_UNITS = 10


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion: (low, high) in 0 to 1; (nan, nan) where ``n`` is 0.

    ``successes`` and ``n`` need not be whole: a clustered sample is worth fewer units than it has. The formula is
    written out because importing statsmodels, whose ``proportion_confint`` gives the same, takes a second.
    """
    if not n:
        return np.nan, np.nan
    z = ndtri((1 + confidence) / 2)
    centre = successes + z**2 / 2
    half = z * np.sqrt(successes * (n - successes) / n + z**2 / 4)
    return max(0.0, (centre - half) / (n + z**2)), min(1.0, (centre + half) / (n + z**2))


@lru_cache(maxsize=4)
def resample_counts(n: int, resamples: int = 1000, seed: int = 0) -> Array:
    """How often each of ``n`` units occurs in each bootstrap resample: (resamples, n), rows that add to ``n``.

    A statistic made of sums over units is then one matrix product for all resamples. The same ``n`` and ``seed`` give
    the same resamples. The array is cached, and read-only for that reason.
    """
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)
    counts.flags.writeable = False
    return counts


def percentile(estimates: Array, confidence: float = 0.95) -> Array:
    """The bootstrap's percentile interval, (2, ...), from ``estimates`` of a statistic, (resamples, ...).

    Resamples in which the statistic is undefined are left out; missing where it is undefined in all.
    """
    tail = (1 - confidence) / 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return np.nanquantile(np.where(np.isfinite(estimates), estimates, np.nan), [tail, 1 - tail], axis=0)
