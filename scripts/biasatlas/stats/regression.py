"""One coefficient of a weighted least-squares regression of clustered rows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from biasatlas.stats import Array
from biasatlas.stats.intervals import Inference, student, without
from biasatlas.stats.replicates import Replicates

#: Eigenvalues below this share of the largest are 0: columns that depend on others, clusters that fix a coefficient.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class _Fit:
    """Weighted regressions on the same columns, rows by cluster: what inference about coefficient ``position`` needs."""

    x: Array
    residuals: Array
    half: Array
    beta: Array
    at: Array
    identified: bool
    names: NDArray
    clusters: list[NDArray[np.int_]]


def _fit(outcomes: Array, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int) -> _Fit:
    codes, names = pd.factorize(np.asarray(clusters))
    order = np.argsort(codes, kind="stable")
    root = np.sqrt(np.asarray(weights, float))[order]
    x = np.asarray(columns, float)[order] * root[:, None]
    y = outcomes[order] * root[:, None]
    half, identified = _inverse_half(x, position)
    beta = half @ (half.T @ (x.T @ y))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    rows = np.split(np.arange(len(y)), starts[1:])
    return _Fit(x, y - x @ beta, half, beta[position], half[position], identified, names, rows)


def coefficient(
    outcome: ArrayLike, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int = 0
) -> Inference:
    """The coefficient of column ``position`` of ``columns`` (rows, columns) in a regression with ``weights`` above 0.

    CR2 with Bell-McCaffrey degrees of freedom, for variances that are proportional to 1 / weight (Pustejovsky and Tipton
    2018 give the general form). Columns may depend on one another; where the coefficient itself is then not identified,
    the value is missing, and ``reason`` says so.
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
    fit = _fit(y, columns, weights, clusters, position)
    if not fit.identified:
        return [without(np.nan, len(fit.names), "not identified: other columns say the same")] * y.shape[1]
    parts, df = _parts(fit)
    return [
        student(float(beta), float(variance), df, len(fit.names))
        for beta, variance in zip(fit.beta, np.square(parts).sum(axis=0), strict=True)
    ]


def coefficient_replicates(
    outcome: ArrayLike, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int = 0
) -> Replicates:
    """The same coefficient by clusters, with the same variance and degrees of freedom; missing where it is not identified.

    What it is without a cluster is that up to the factor by which CR2 corrects the cluster's residuals.
    """
    fit = _fit(np.asarray(outcome, float)[:, None], columns, weights, clusters, position)
    index = pd.Index(fit.names)
    even = pd.Series(1 / len(index), index)
    if not fit.identified:
        return Replicates(np.nan, pd.Series(np.nan, index), even)
    parts, df = _parts(fit)
    value = float(fit.beta[0])
    return Replicates(value, value - pd.Series(parts[:, 0], index) / np.sqrt(1 - even), even, df)


def _parts(fit: _Fit) -> tuple[Array, float]:
    """What each cluster adds to the coefficients' error by CR2, (clusters, outcomes), and degrees of freedom."""
    parts, norms, pulls = [], [], []
    for rows in fit.clusters:
        here = fit.x[rows]
        adjusted = _adjusted(here @ fit.half, fit.at)
        parts.append(adjusted @ fit.residuals[rows])
        norms.append(adjusted @ adjusted)
        pulls.append(here.T @ adjusted)
    products = np.array(pulls)
    b = np.diag(norms) - products @ (fit.half @ fit.half.T) @ products.T
    df = np.trace(b) ** 2 / (b**2).sum() if (b**2).sum() > 0 else np.nan
    return np.array(parts), float(df)


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
