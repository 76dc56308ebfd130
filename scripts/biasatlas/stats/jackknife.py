"""Smooth functions of sums over clusters, by leaving out one cluster at a time."""

from collections.abc import Callable

import numpy as np

from biasatlas.stats import Array
from biasatlas.stats.intervals import Inference, student

#: Sums (..., sums) to values (..., values), for many sets of sums at once.
Statistic = Callable[[Array], Array]


def jackknife(statistic: Statistic, sums: Array) -> list[Inference]:
    """Values of ``statistic`` of the totals of ``sums``, (clusters, sums), with t-intervals on clusters - 1 degrees.

    The variance is the delete-a-group jackknife's, (G - 1) / G times the squares of the differences that leaving a
    cluster out makes. For a mean or ratio it is a little narrow below ten clusters: :func:`biasatlas.stats.clusters.ratio`
    is better there. Left out are clusters whose sums are all 0.
    """
    sums = np.asarray(sums, float)
    sums = sums[(sums != 0).any(axis=1)]
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.atleast_1d(statistic(total))
        return replicated(values, statistic(total - sums))


def replicated(values: Array, without_each: Array) -> list[Inference]:
    """Jackknife inference of ``values`` from ``without_each``, (clusters, values): what they are without each cluster."""
    count = len(without_each)
    variances = (count - 1) / max(count, 1) * ((without_each - values) ** 2).sum(axis=0)
    scale = np.maximum(np.abs(values), 1e-300)
    variances = np.where(variances > (1e-12 * scale) ** 2, variances, 0.0)
    return [
        student(float(value), float(variance), count - 1, count)
        for value, variance in zip(values, variances, strict=True)
    ]
