"""Corrections for multiple testing, along the last axis of an array of p-values."""

import numpy as np
import scipy

from biasatlas.stats import Array


def adjust(p_values: Array, method: str) -> Array:
    """Adjusted p-values of the same shape, 0 to 1: each is significant where it is below alpha.

    ``method`` is "none", "holm" (controls the family-wise error rate under any dependence) or "fdr" (Benjamini and
    Hochberg's, which controls the false discovery rate). statsmodels' multipletests has both for one family; here each
    row is a family. A missing p-value stays missing, and counts in its family as a p-value of 1. Raises ValueError for
    another method.
    """
    filled = np.nan_to_num(p_values, nan=1.0)
    if method == "holm":
        adjusted = _holm(filled)
    elif method == "fdr":
        adjusted = scipy.stats.false_discovery_control(filled, axis=-1)
    elif method == "none":
        adjusted = filled
    else:
        raise ValueError(f"method {method!r} is none of none, holm, fdr")
    return np.where(np.isnan(p_values), np.nan, adjusted)


def _holm(p_values: Array) -> Array:
    order = np.argsort(p_values, axis=-1)
    size = p_values.shape[-1]
    stepped = np.take_along_axis(p_values, order, axis=-1) * (size - np.arange(size))
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(stepped, axis=-1), 1), axis=-1)
    return adjusted
