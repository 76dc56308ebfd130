"""Corrections for many tests: families are tested first, then the members of families that hold something.

Benjamini and Bogomolov (2014): the members of a family are tested only if its joint null is rejected, at the level
times the share of families that are rejected. If all nulls are true, nothing at all is found in 95% of runs.
"""

import numpy as np
import pandas as pd
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


#: Level of a run.
ALPHA = 0.05


def simes(p_values: Array) -> float:
    """The p-value that all nulls of a family hold: the smallest p_(i) m / i over its m sorted p-values.

    It keeps its level under independence and under the dependence of tests on shared items. Missing ones are left out.
    """
    known = np.sort(p_values[np.isfinite(p_values)])
    return float((known * len(known) / np.arange(1, len(known) + 1)).min()) if len(known) else np.nan


def hierarchical(
    p_values: pd.Series, family: pd.Series, member: pd.Series | None = None, alpha: float = ALPHA
) -> pd.DataFrame:
    """A row for each test: ``family_p`` (Simes), ``family_p_adjusted`` (Holm over families), ``q_value``, ``found``.

    Families survive if their adjusted p-value is at most ``alpha``. A test's q is Benjamini and Hochberg's adjusted
    p-value within its family, times families over survivors (at least 1); it is found if its family survives and q is
    at most ``alpha``. Rows without a p-value are no tests. A test that is no ``member`` (by default all are) does not
    count for its family, and is corrected alone: its q is p times families over survivors. If no member of a family
    has a p-value, its other tests count as members.
    """
    known = p_values.notna() if member is None else p_values.notna() & member
    known |= p_values.notna() & ~family.isin(family[known])
    by_family = p_values[known].groupby(family[known], sort=False)
    joint = by_family.agg(lambda values: simes(values.to_numpy(float)))
    holm = pd.Series(adjust(joint.to_numpy(float), "holm"), joint.index)
    share = len(joint) / max(int((holm <= alpha).sum()), 1)
    within = by_family.transform(lambda values: adjust(values.to_numpy(float), "fdr"))
    table = pd.DataFrame(
        {
            "family_p": family.map(joint).where(p_values.notna()),
            "family_p_adjusted": family.map(holm).where(p_values.notna()),
            "q_value": (within.reindex(p_values.index).fillna(p_values) * share).clip(upper=1.0),
        }
    ).astype(float)
    return table.assign(found=(table["family_p_adjusted"] <= alpha) & (table["q_value"] <= alpha))
