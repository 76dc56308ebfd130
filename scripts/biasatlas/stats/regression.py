"""One coefficient of a weighted least-squares regression of clustered rows."""

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from biasatlas.stats import Array
from biasatlas.stats.intervals import Inference, student, without
from biasatlas.stats.replicates import Replicates

#: Eigenvalues below this share of the largest are 0: columns that depend on others, clusters that fix a coefficient.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class _Design:
    """The columns of a regression, rows in the ``order`` of their clusters and times the ``root`` of their weights.

    ``adjusted`` times the residuals is what each cluster adds to the error of the coefficient at ``position``, by CR2.
    """

    order: NDArray[np.int_]
    root: Array
    x: Array
    half: Array
    identified: bool
    names: NDArray
    adjusted: csr_array
    df: float


#: The last designs by what they are made of: many models, and pairs of them, answer the same items.
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
    """The same coefficient by clusters, with the same variance and degrees of freedom; missing where it is not
    identified.

    What it is without a cluster is that up to the factor by which CR2 corrects the cluster's residuals.
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
    """What the residual of each row adds to its cluster's part of the error, and degrees of freedom; clusters end at
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
    """L, of which L L' is the pseudo-inverse of x'x, and whether the rows determine the coefficient at ``position``."""
    scale = np.sqrt((x**2).sum(axis=0))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh((x / scale).T @ (x / scale))
    kept = values > _SINGULAR * values[-1]
    half = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
    return half, bool((vectors[position, ~kept] ** 2).sum() < 1e-6)


def _adjusted(z: Array, at: Array) -> Array:
    """(I - z z')^(-1/2) z ``at`` for the rows z of a cluster, with the root's inverse 0 where I - z z' is."""
    left, singular, right = np.linalg.svd(z, full_matrices=False)
    kept = 1 - singular**2
    scaled = np.where(kept > _SINGULAR, singular / np.sqrt(np.maximum(kept, _SINGULAR)), 0.0)
    return left @ (scaled * (right @ at))
