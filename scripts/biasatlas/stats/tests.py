"""Student's t-tests and Cohen's d from moments; for one pair of samples scipy.stats.ttest_rel and ttest_ind give the same t."""

import numpy as np
import scipy

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


def paired_t(pairs: Moments) -> tuple[Array, Array]:
    """Statistic and two-sided p-value of the paired t-test; a positive statistic means that ``second`` is larger."""
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = pairs.difference / np.sqrt(pairs.difference_variance / pairs.n)
    return statistic, 2 * scipy.stats.t.sf(np.abs(statistic), pairs.n - 1)


def independent_t(pairs: Moments) -> tuple[Array, Array]:
    """Statistic and two-sided p-value of Student's t-test (equal variances), which ignores the pairing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic, p_value = scipy.stats.ttest_ind_from_stats(
            pairs.second, np.sqrt(pairs.second_variance), pairs.n, pairs.first, np.sqrt(pairs.first_variance), pairs.n
        )
    return statistic, p_value


def exchanged(values: Array, draws: int = 9999, seed: int = 0) -> float:
    """One-sided p-value that the first column of ``values`` (blocks, columns) is not above the others.

    Under the null the columns of a block are exchangeable, and so is which of them is called the first, independently in
    each block: (1 + draws whose sum over blocks is at least the first column's) / (1 + draws).
    """
    rng = np.random.default_rng(seed)
    centred = values - values.mean(axis=1, keepdims=True)
    total = centred[:, 0].sum()
    drawn = rng.integers(0, values.shape[1], (draws, len(values)))
    sums = centred[np.arange(len(values)), drawn].sum(axis=1)
    return float((1 + (sums >= total - 1e-12 * np.abs(centred).sum()).sum()) / (1 + draws))
