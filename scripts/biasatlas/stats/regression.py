"""One coefficient of a weighted least-squares regression of clustered rows."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasatlas.stats import Array
from biasatlas.stats.intervals import Inference, student, without

#: Eigenvalues below this share of the largest are 0: columns that depend on others, clusters that fix a coefficient.
_SINGULAR = 1e-9


def coefficient(
    outcome: ArrayLike, columns: ArrayLike, weights: ArrayLike, clusters: ArrayLike, position: int = 0
) -> Inference:
    """The coefficient of column ``position`` of ``columns`` (rows, columns) in a regression with ``weights`` above 0.

    CR2 with Bell-McCaffrey degrees of freedom, for variances that are proportional to 1 / weight (Pustejovsky and Tipton
    2018 give the general form). Columns may depend on one another; where the coefficient itself is then not identified,
    the value is missing, and ``reason`` says so.
    """
    codes, names = pd.factorize(np.asarray(clusters))
    order = np.argsort(codes, kind="stable")
    root = np.sqrt(np.asarray(weights, float))[order]
    x = np.asarray(columns, float)[order] * root[:, None]
    y = np.asarray(outcome, float)[order] * root
    if not len(y):
        return without(np.nan, 0, "no rows")
    half, identified = _inverse_half(x, position)
    if not identified:
        return without(np.nan, len(names), "not identified: other columns say the same")
    inverse = half @ half.T
    beta = inverse @ (x.T @ y)
    residuals = y - x @ beta
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    parts, norms, pulls = [], [], []
    for rows in np.split(np.arange(len(y)), starts[1:]):
        here = x[rows]
        adjusted = _adjusted(here @ half, half[position])
        parts.append(adjusted @ residuals[rows])
        norms.append(adjusted @ adjusted)
        pulls.append(here.T @ adjusted)
    products = np.array(pulls)
    b = np.diag(norms) - products @ inverse @ products.T
    df = np.trace(b) ** 2 / (b**2).sum() if (b**2).sum() > 0 else np.nan
    return student(float(beta[position]), float(np.square(parts).sum()), float(df), len(names))


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
    roots = np.where(kept > _SINGULAR, singular / np.sqrt(np.maximum(kept, _SINGULAR)), 0.0)
    return left @ (roots * (right @ at))
