"""Student's t-tests from moments; for one pair of samples scipy.stats.ttest_rel and ttest_ind give the same."""

import numpy as np
import scipy

from biasatlas.stats import Array
from biasatlas.stats.moments import Moments


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
