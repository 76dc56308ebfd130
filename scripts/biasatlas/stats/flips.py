"""The p-value of a sum of products under random signs, without drawing them."""

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import logsumexp

from biasatlas.stats import Array


def signed_blocks(products: Array, first: NDArray[np.int_], second: NDArray[np.int_]) -> Array:
    """Sums of ``products`` under every sign vector, (blocks, sign vectors), the observed one first.

    Product i has the signs number ``first[i]`` and ``second[i]`` (whole numbers from 0), each 1 or -1. A block holds the
    products that share signs, directly or through others; the sign of its first member is 1 without loss. A block with
    fewer signs than the largest repeats its sums, which changes no distribution.
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

    ``values`` is (blocks, sign vectors): a row holds the block's sum of products under every sign vector, the observed one
    first; under the null all are equally likely, independently by block. Lugannani and Rice's saddlepoint approximation in
    Barndorff-Nielsen's form, Phi(-(w + log(u / w) / w)); exact at the maximum, normal near 0. Blocks that do not vary are
    left out. 1.0 where none varies.
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
