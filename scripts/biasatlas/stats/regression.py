"""Linear models: a coefficient of a regression of clustered rows, and variance components of a crossed layout."""

import itertools
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from biasatlas.stats import Array
from biasatlas.stats.intervals import CONFIDENCE, Inference, student, without
from biasatlas.stats.replicates import Replicates

#: Eigenvalues below this share of the largest count as 0: dependent columns, clusters that alone fix a coefficient.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class _Design:
    """The columns of a regression. Rows are in the ``order`` of their clusters, times the ``root`` of their weights.

    ``adjusted`` times the residuals is what each cluster adds to the error of the coefficient, by CR2.
    """

    order: NDArray[np.int_]
    root: Array
    x: Array
    half: Array
    identified: bool
    names: NDArray
    adjusted: csr_array
    df: float


#: The last designs, by a digest of their inputs: many models, and pairs of them, answer the same items.
_DESIGNS: OrderedDict[bytes, _Design] = OrderedDict()
_KEPT = 64


def _design(columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int) -> _Design:
    codes, names = pd.factorize(np.asarray(clusters))
    given, weighted = np.asarray(columns, float), np.asarray(weights, float)
    key = blake2b(f"{position} {given.shape} {list(names)}".encode())
    for part in (given, weighted, codes):
        key.update(np.ascontiguousarray(part).data)
    if key.digest() in _DESIGNS:
        _DESIGNS.move_to_end(key.digest())
        return _DESIGNS[key.digest()]
    order = np.argsort(codes, kind="stable")
    root = np.sqrt(weighted)[order][:, None]
    x = given[order] * root
    half, identified = _inverse_half(x, position)
    ends = np.append(np.flatnonzero(np.diff(codes[order], prepend=-1)), len(x))
    adjusted, df = _adjusted_rows(x, half, position, ends) if identified else (np.zeros(len(x)), np.nan)
    by_cluster = csr_array((adjusted, np.arange(len(x)), ends), shape=(len(names), len(x)))
    design = _Design(order, root, x, half, identified, names, by_cluster, df)
    _DESIGNS[key.digest()] = design
    if len(_DESIGNS) > _KEPT:
        _DESIGNS.popitem(last=False)
    return design


def _fit(outcomes: Array, design: _Design, position: int) -> tuple[Array, Array]:
    """The coefficient at ``position`` of each of ``outcomes``, and what each cluster adds to its error, (clusters,
    outcomes)."""
    y = outcomes[design.order] * design.root
    beta = design.half @ (design.half.T @ (design.x.T @ y))
    return beta[position], design.adjusted @ (y - design.x @ beta)


def coefficient(
    outcome: ArrayLike, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int = 0
) -> Inference:
    """The coefficient of column ``position`` of ``columns`` (rows, columns) in a regression with ``weights`` above 0.

    CR2 with Bell-McCaffrey degrees of freedom, for variances that are proportional to 1 / weight (Pustejovsky and
    Tipton 2018 give the general form). Columns may depend on one another; where the coefficient itself is then not
    identified, the value is missing, and ``reason`` says so.
    """
    (found,) = coefficients(np.asarray(outcome, float)[:, None], columns, weights, clusters, position)
    return found


def coefficients(
    outcomes: ArrayLike, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int = 0
) -> list[Inference]:
    """:func:`coefficient` of each column of ``outcomes`` (rows, outcomes) on the same ``columns``."""
    y = np.asarray(outcomes, float)
    if not len(y):
        return [without(np.nan, 0, "no rows")] * y.shape[1]
    design = _design(columns, weights, clusters, position)
    if not design.identified:
        return [without(np.nan, len(design.names), "not identified: other columns say the same")] * y.shape[1]
    values, parts = _fit(y, design, position)
    return [
        student(float(value), float(variance), design.df, len(design.names))
        for value, variance in zip(values, np.square(parts).sum(axis=0), strict=True)
    ]


def coefficient_replicates(
    outcome: ArrayLike, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int = 0
) -> Replicates:
    """Replicates of :func:`coefficient`, with its variance and degrees of freedom; NaN if it is not identified.

    Values without a cluster are exact only up to the factor by which CR2 corrects that cluster's residuals.
    """
    (found,) = coefficients_replicates(np.asarray(outcome, float)[:, None], columns, weights, clusters, position)
    return found


def coefficients_replicates(
    outcomes: ArrayLike, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int = 0
) -> list[Replicates]:
    """:func:`coefficient_replicates` of each column of ``outcomes`` (rows, outcomes) on the same ``columns``."""
    y, design = np.asarray(outcomes, float), _design(columns, weights, clusters, position)
    index = pd.Index(design.names)
    even = pd.Series(1 / len(index), index)
    if not design.identified:
        return [Replicates(np.nan, pd.Series(np.nan, index), even)] * y.shape[1]
    values, parts = _fit(y, design, position)
    without_each = values - parts / np.sqrt(1 - even.to_numpy())[:, None]
    return [
        Replicates(float(value), pd.Series(without_it, index), even, design.df)
        for value, without_it in zip(values, without_each.T, strict=True)
    ]


def _adjusted_rows(x: Array, half: Array, position: int, ends: NDArray[np.int_]) -> tuple[Array, float]:
    """The factor of each row's residual in its cluster's part of the error, and degrees of freedom; clusters end at
    ``ends``."""
    rows, norms, pulls = [], [], []
    for start, end in pairwise(ends):
        here = x[start:end]
        adjusted = _adjusted(here @ half, half[position])
        rows.append(adjusted)
        norms.append(adjusted @ adjusted)
        pulls.append(here.T @ adjusted)
    products = np.array(pulls)
    b = np.diag(norms) - products @ (half @ half.T) @ products.T
    df = np.trace(b) ** 2 / (b**2).sum() if (b**2).sum() > 0 else np.nan
    return np.concatenate(rows), float(df)


def _inverse_half(x: Array, position: int) -> tuple[Array, bool]:
    """L, with L L' the pseudo-inverse of x'x, and whether the rows determine the coefficient at ``position``."""
    scale = np.sqrt((x**2).sum(axis=0))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh((x / scale).T @ (x / scale))
    kept = values > _SINGULAR * values[-1]
    half = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
    return half, bool((vectors[position, ~kept] ** 2).sum() < 1e-6)


def _adjusted(z: Array, at: Array) -> Array:
    """(I - z z')^(-1/2) z ``at`` for the rows z of a cluster; the inverse root is 0 where I - z z' is singular."""
    left, singular, right = np.linalg.svd(z, full_matrices=False)
    kept = 1 - singular**2
    scaled = np.where(kept > _SINGULAR, singular / np.sqrt(np.maximum(kept, _SINGULAR)), 0.0)
    return left @ (scaled * (right @ at))


class MeanSquare(NamedTuple):
    """A mean square of an analysis of variance, and its degrees of freedom."""

    value: float
    df: int


def mean_squares(values: Array) -> dict[tuple[int, ...], MeanSquare]:
    """The mean squares of a crossed array with a value in each cell, by the axes of an effect, as (0,) or (0, 2)."""
    found = {}
    axes = range(values.ndim)
    for size in range(1, values.ndim + 1):
        for own in itertools.combinations(axes, size):
            effect = values.mean(axis=tuple(set(axes) - set(own)), keepdims=True)
            for axis in own:
                effect = effect - effect.mean(axis=axis, keepdims=True)
            df = math.prod(values.shape[axis] - 1 for axis in own)
            total = float((effect**2).sum()) * values.size / effect.size
            found[own] = MeanSquare(total / df if df else 0.0, df)
    return found


def combination(
    squares: Mapping[tuple[int, ...], MeanSquare], weights: Mapping[tuple[int, ...], float]
) -> tuple[float, float, float]:
    """The sum of mean squares times their ``weights``, and its 95% interval by the modified large-sample method.

    Ting, Burdick, Graybill, Jeyaratnam and Lu (1990), for independent mean squares of normal effects. The value can be
    negative if a weight is.
    """
    terms = [(weight, *squares[axes]) for axes, weight in weights.items() if weight and squares[axes].df]
    value = sum(weight * square for weight, square, _ in terms)
    width = [math.sqrt(max(_variance([(sign * w, s, df) for w, s, df in terms]), 0.0)) for sign in (1, -1)]
    return value, value - width[0], value + width[1]


def _variance(terms: Sequence[tuple[float, float, int]]) -> float:
    """The squared distance from the value to its lower limit; to the upper one, if all weights have the other sign."""
    tail, total = (1 - CONFIDENCE) / 2, 0.0
    up, down = ([(abs(w) * s, df) for w, s, df in terms if sign * w > 0] for sign in (1, -1))
    total += sum((_above(df, tail) * x) ** 2 for x, df in up) + sum((_below(df, tail) * x) ** 2 for x, df in down)
    for (x, n), (y, m) in itertools.product(up, down):
        f = float(scipy.special.fdtri(n, m, 1 - tail))
        total += ((f - 1) ** 2 - (_above(n, tail) * f) ** 2 - _below(m, tail) ** 2) / f * x * y
    for (x, n), (y, m) in itertools.combinations(up, 2):
        both = (_above(n + m, tail) * (n + m)) ** 2 / (n * m)
        total += (both - _above(n, tail) ** 2 * n / m - _above(m, tail) ** 2 * m / n) / (len(up) - 1) * x * y
    return total


def _above(df: int, tail: float) -> float:
    """The share of a mean square by which it may lie above its expectation."""
    return 1 - df / float(scipy.special.chdtri(df, tail))


def _below(df: int, tail: float) -> float:
    """How far a mean square may lie below its expectation, in multiples of itself."""
    return df / float(scipy.special.chdtri(df, 1 - tail)) - 1
