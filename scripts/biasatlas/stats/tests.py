"""Student's t-tests and Cohen's d from moments, an exchange test and a sign-flip test.

For one pair of samples scipy.stats.ttest_rel and ttest_ind give the same t.
"""

from dataclasses import dataclass, fields

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import logsumexp

from biasatlas.stats import Array


@dataclass(frozen=True)
class Moments:
    """What a t-test or an effect size of pairs needs. Each is an array of shape (columns,) or (resamples, columns).

    ``n`` counts the pairs; variances are those of a sample (divided by n - 1) and missing where n is below 2;
    ``difference`` is second minus first.
    """

    n: Array
    first: Array
    second: Array
    difference: Array
    first_variance: Array
    second_variance: Array
    difference_variance: Array

    def columns(self, chosen: slice) -> "Moments":
        """The moments of some columns."""
        return Moments(*(getattr(self, field.name)[..., chosen] for field in fields(self)))


def moments(first: Array, second: Array, counts: Array | None = None) -> Moments:
    """Moments of each column of ``first`` and ``second``, both (units, columns), leaving out pairs that lack a value.

    ``counts`` (resamples, units) says how often each unit occurs in each resample (in a jackknife, one occurs 0 times);
    without it every unit occurs once.
    """
    present = np.isfinite(first) & np.isfinite(second)
    weights = np.ones((1, len(present))) if counts is None else counts
    n = weights @ present

    def mean_and_variance(values: Array) -> tuple[Array, Array]:
        values = np.where(present, values, 0.0)
        # Centred first: perplexities run to 1e7, whose squares would leave few digits for the variance.
        centre = values.sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        values = np.where(present, values - centre, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = weights @ values / n
            variance = np.where(n > 1, (weights @ values**2 - n * mean**2) / (n - 1), np.nan)
        return mean + centre, np.maximum(variance, 0.0)

    parts = [mean_and_variance(values) for values in (first, second, second - first)]
    means, variances = zip(*parts, strict=True)
    arrays = (n, *means, *variances)
    return Moments(*(array[0] for array in arrays) if counts is None else arrays)


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

    Under the null the columns of a block are exchangeable, so that any of them could be the first, independently in
    each block. The p-value is (1 + draws whose sum over blocks is at least the first column's) / (1 + draws).
    """
    rng = np.random.default_rng(seed)
    centred = values - values.mean(axis=1, keepdims=True)
    total = centred[:, 0].sum()
    drawn = rng.integers(0, values.shape[1], (draws, len(values)))
    sums = centred[np.arange(len(values)), drawn].sum(axis=1)
    return float((1 + (sums >= total - 1e-12 * np.abs(centred).sum()).sum()) / (1 + draws))


def signed_blocks(products: Array, first: NDArray[np.int_], second: NDArray[np.int_]) -> Array:
    """Sums of ``products`` under every sign vector, (blocks, sign vectors), the observed one first.

    Product i has the signs number ``first[i]`` and ``second[i]`` (whole numbers from 0), each 1 or -1. A block holds
    the products that share signs, directly or through others; the sign of its first member is 1, without loss of
    generality. A block with fewer signs than the largest repeats its sums, which changes no distribution.
    """
    count = int(max(first.max(), second.max())) + 1
    shares = scipy.sparse.coo_matrix((np.ones(len(first)), (first, second)), shape=(count, count))
    blocks, block = scipy.sparse.csgraph.connected_components(shares, directed=False)
    order = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[order], np.arange(blocks))
    place = np.empty(count, int)
    place[order] = np.arange(count) - starts[block[order]]
    vectors = np.arange(2 ** int(place.max()))
    bits = np.where(place[:, None] > 0, vectors >> np.maximum(place[:, None] - 1, 0) & 1, 0)
    signs = 1 - 2 * bits
    sums = np.zeros((blocks, len(vectors)))
    np.add.at(sums, block[first], products[:, None] * signs[first] * signs[second])
    return sums


def flip_p(values: Array) -> float:
    """One-sided p-value that the sum of the first column of ``values`` is not above 0, under random signs.

    ``values`` is (blocks, sign vectors): a row holds the block's sum of products under every sign vector, the observed
    one first; under the null all are equally likely, independently by block. Lugannani and Rice's saddlepoint
    approximation in Barndorff-Nielsen's form, Phi(-(w + log(u / w) / w)); exact at the maximum, normal near 0. Blocks
    that do not vary are left out; 1.0 if none varies.
    """
    spread = values.var(axis=1)
    values, spread = values[spread > 0], spread[spread > 0]
    if not len(values):
        return 1.0
    q = values / np.sqrt(spread.sum())
    x = float(q[:, 0].sum())
    top = q.max(axis=1, keepdims=True)
    if x >= top.sum() - 1e-9:
        return float(np.isclose(q, top).mean(axis=1).prod())
    if abs(x) < 1e-3:
        return float(scipy.stats.norm.sf(x))
    if x <= q.min(axis=1).sum() + 1e-9:
        return 1.0

    def slopes(t: float) -> tuple[float, float]:
        """First two derivatives at ``t`` of the sum's cumulant generating function."""
        share = np.exp(t * q - logsumexp(t * q, axis=1, keepdims=True))
        mean = (share * q).sum(axis=1)
        return float(mean.sum()), float(((share * q * q).sum(axis=1) - mean**2).sum())

    end = float(np.sign(x))
    while (slopes(end)[0] - x) * end < 0:
        end *= 2
    t = scipy.optimize.brentq(lambda u: slopes(u)[0] - x, *sorted((0.0, end)))
    cumulant = float((logsumexp(t * q, axis=1) - np.log(q.shape[1])).sum())
    w = np.sign(t) * np.sqrt(2 * (t * x - cumulant))
    u = t * np.sqrt(slopes(t)[1])
    return float(scipy.stats.norm.sf(w + np.log(u / w) / w))
