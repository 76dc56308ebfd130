"""Effect sizes: Cohen's d of pairs, and of pairs in the pooled form."""

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
