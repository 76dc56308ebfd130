"""Effect sizes: Cohen's d in the form for pairs and in the pooled form, and Hedges' correction."""

import numpy as np
from scipy.special import gammaln

from biasatlas.stats.moments import Moments


def paired_dz(pairs: Moments) -> np.ndarray:
    """Mean difference (second minus first) over the standard deviation of the differences: t of the pairs over root n.

    It grows with the correlation of the two measurements, so 0.2, 0.5 and 0.8 (proposed for :func:`pooled_d`) are no
    landmarks for it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return pairs.difference / np.sqrt(pairs.difference_variance)


def pooled_d(pairs: Moments) -> np.ndarray:
    """Mean difference (second minus first) over the pooled standard deviation of the two measurements."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return pairs.difference / np.sqrt((pairs.first_variance + pairs.second_variance) / 2)


def cohen_d(first: np.ndarray, second: np.ndarray, axis: int = -1) -> np.ndarray:
    """Mean of ``second`` minus that of ``first``, two independent samples, over their pooled standard deviation."""
    sizes = first.shape[axis] - 1, second.shape[axis] - 1
    spread = sizes[0] * np.var(first, axis=axis, ddof=1) + sizes[1] * np.var(second, axis=axis, ddof=1)
    return (np.mean(second, axis=axis) - np.mean(first, axis=axis)) / np.sqrt(spread / sum(sizes))


def hedges_correction(degrees_of_freedom: float) -> float:
    """The factor that makes Cohen's d unbiased under normality (Hedges 1981, exact form); d is too large without it."""
    half = degrees_of_freedom / 2
    return float(np.exp(gammaln(half) - gammaln(half - 0.5)) / np.sqrt(half))
