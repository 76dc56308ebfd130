"""Own-group advantages with their replicates over terms."""

from collections.abc import Iterator

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.swaps import SENTENCE, regression, swapped_pairs


def evidence(step: Step[TWBiasOptions]) -> Iterator[Evidence]:
    """``own_term_advantage`` and ``own_group_advantage`` of each two groups, over their terms.

    Each swap of two terms has a cost of its own in a model; over sentences, many of which share a swap, that cost would
    look like bias. A sentence lies away from neutral by its mean loss of log-likelihood under a swap for the other
    group: above 0 where it is likelier as its writer had it.
    """
    for pair, found in swapped_pairs(step.scores, step.options):
        model = regression(step.scores, found, pair)
        if model.reason or model.changes.empty:
            continue
        other = model.changes[model.changes["crossed"] == 1]
        lost = -other.groupby(SENTENCE, sort=False)["log_likelihood"].mean()
        names = lost.index.to_series()
        yield Evidence(model.metric, "", "-".join(pair), model.replicates("terms"), items_of(names, names, lost))
