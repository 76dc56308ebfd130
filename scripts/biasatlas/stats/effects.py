"""Effect sizes: Cohen's d of pairs, of pairs in the pooled form, and of two independent samples."""

import numpy as np

from biasatlas.stats import Array
from biasatlas.stats.moments import Moments


def paired_dz(pairs: Moments) -> Array:
    """Mean difference (second minus first) over the standard deviation of the differences: t of the pairs over root n.

    It grows with the correlation of the two measurements, so the landmarks 0.2, 0.5 and 0.8, which were proposed for
    :func:`pooled_d`, do not apply to it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return pairs.difference / np.sqrt(pairs.difference_variance)


def pooled_d(pairs: Moments) -> Array:
    """Mean difference (second minus first) over the pooled standard deviation of the two measurements."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return pairs.difference / np.sqrt((pairs.first_variance + pairs.second_variance) / 2)


def cohen_d(first: Array, second: Array, axis: int = -1) -> Array:
    """Mean of ``second`` minus that of ``first``, two independent samples, over their pooled standard deviation."""
    first_df, second_df = first.shape[axis] - 1, second.shape[axis] - 1
    squares = first_df * np.var(first, axis=axis, ddof=1) + second_df * np.var(second, axis=axis, ddof=1)
    return (np.mean(second, axis=axis) - np.mean(first, axis=axis)) / np.sqrt(squares / (first_df + second_df))
