"""Own-group advantages with their replicates over sentences."""

from collections.abc import Iterator

import numpy as np

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.swaps import SENTENCE, regression, swapped_pairs
from biasatlas.stats.regression import coefficient_replicates


def evidence(step: Step[TWBiasOptions]) -> Iterator[Evidence]:
    """``own_term_advantage`` or ``own_group_advantage`` of each two groups, over sentences.

    A sentence's side is that of its mean change in log-likelihood under a swap for the other group: 1 where it is
    likelier as its writer had it.
    """
    for pair, found in swapped_pairs(step.scores, step.options):
        model = regression(step.scores, found, pair)
        if model.columns is None or model.changes.empty:
            continue
        changes = model.changes
        value = coefficient_replicates(-changes["log_likelihood"], model.columns, model.weight, changes[SENTENCE])
        other = changes[changes["crossed"] == 1]
        side = -np.sign(other.groupby(SENTENCE, sort=False)["log_likelihood"].mean())
        names = side.index.to_series()
        yield Evidence(model.metric, "", "-".join(pair), value, items_of(names, names, side))
