"""Own-group advantages with their replicates over terms."""

from collections.abc import Iterator

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.benchmarks.twbias.spec import TWBiasOptions
from biasatlas.benchmarks.twbias.swaps import SENTENCE, Regression, regression, swapped_pairs
from biasatlas.stats.replicates import Crossed


def evidence(step: Step[TWBiasOptions]) -> Iterator[Evidence]:
    """``own_term_advantage`` and ``own_group_advantage`` of each two groups, over their terms.

    Each swap of two terms has a cost of its own in a model; over sentences, many of which share a swap, that cost would
    look like bias. A sentence lies away from neutral by its mean loss of log-likelihood under a swap for the other
    group: above 0 where it is likelier as its writer had it.
    """
    for pair, found in swapped_pairs(step.scores, step.options):
        model = regression(step.scores, found, pair)
        if not model.reason and len(model.changes):
            yield of_two(pair, model, model.replicates("terms"))


def of_two(pair: tuple[str, str], model: Regression, replicates: Crossed) -> Evidence:
    """The evidence of two groups."""
    other = model.changes[model.changes["crossed"] == 1]
    lost = -other.groupby(SENTENCE, sort=False)["log_likelihood"].mean()
    names = lost.index.to_series()
    return Evidence(model.metric, "", "-".join(pair), replicates, items_of(names, names, lost))
