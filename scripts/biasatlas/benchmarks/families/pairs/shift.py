"""What pairs of both directions say of stereotypes, whatever a model likes of either side.

A difference of two likelihoods holds what the words of a side cost, and how much a model likes its group. In pairs
about the other direction of a stereotype it holds the same, and the stereotype with the other sign. So what changes
with the direction is the stereotype's, and what does not is in the constants of a regression.
"""

from functools import partial

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.families.pairs.spec import PairsDescription
from biasatlas.benchmarks.shared.estimates import Estimate
from biasatlas.stats.regression import coefficient_replicates
from biasatlas.stats.replicates import Crossed, crossed_replicates

#: Share of clusters in several categories from which a cluster is more than a part of its category.
_SHARED = 0.1


@metric("balanced_shift", "side_shift")
def shift_estimate(scores: pd.DataFrame, description: PairsDescription) -> Estimate:
    """The coefficient of direction in a regression of log P(first side) - log P(other side) on it, templates and words,
    in nats.

    x, that difference, is of texts with the words that a stereotype is about or, in the other direction, is not.

    - ``balanced_shift``, of categories with pairs of both directions: x is of the words that end both texts, given what
      precedes them, so it holds no word's own likelihood; categories have constants of their own. Half of the
      difference of the two directions: how much a stereotype adds. Over clusters, and the words that differ on either
      side.
    - ``side_shift``, of categories that are stereotypes of one side: x is of whole texts. Mean over the categories of
      the first side minus the mean over those of the second, each category weighing 1. Over categories, and over
      clusters where these stand in several categories, as towns do.

    ``n`` counts pairs. 0 for a model that likes a side, or finds its words likely, in whatever text.
    """
    replicates = shift_replicates(scores, description)
    if replicates is None:
        return Estimate(np.nan, n=0, no_interval_reason="no pair of both directions has a value")
    return Estimate.of(replicates.inference(), int(scores["shift"].notna().sum()))


def shift_replicates(scores: pd.DataFrame, description: PairsDescription) -> Crossed | None:
    """:func:`shift_estimate` by what its pairs are sampled in; None where pairs of a direction have no value.

    Of ``scores`` it takes ``category``, ``direction``, ``shift`` (x in nats, missing where there is none), ``words``,
    the column of templates where there are several, and the columns of factors: that of clusters, ``term`` and
    ``other_term``, the words that differ (of ``side_shift`` none of these).
    """
    known = scores[scores["shift"].notna()]
    ways = description.ways
    if ways is None or set(known["direction"]) != set(ways):
        return None
    way = np.where(known["direction"] == ways[0], 1.0, -1.0)
    categories = pd.get_dummies(known["category"]).to_numpy(float)
    constants = [pd.get_dummies(known[name]).to_numpy(float) for name in description.template]
    if description.compared == "texts":
        columns = [way[:, None] / 2, np.ones((len(known), 1))]
        weights = 1 / categories.sum(axis=0)[categories.argmax(axis=1)]
        factors = {"categories": known["category"]}
        if known.groupby(description.cluster_name)["category"].nunique().gt(1).mean() > _SHARED:
            factors[f"{description.cluster_name}s"] = known[description.cluster_name]
    else:
        columns, weights = [way[:, None], categories], np.ones(len(known))
        factors = {f"{description.cluster_name}s": known[description.cluster_name]}
        factors |= {"words": known["term"], "other words": known["other_term"]}
    columns += [*constants, known[["words"]].to_numpy(float)]
    estimated = partial(coefficient_replicates, known["shift"].to_numpy(float), np.column_stack(columns), weights)
    return crossed_replicates(estimated, factors)
