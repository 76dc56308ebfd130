"""The ways in which a study measures simulated models of one setting, by the name that it gives."""

from collections.abc import Callable

import pandas as pd

from biasatlas.simulation import claims, direct, experiment, ngrams, own_group, rounds
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study

_WAYS: dict[str, Callable[..., pd.DataFrame]] = {
    "tables": experiment.run,
    "evidence": claims.run,
    "regression": own_group.run,
    "answers": direct.run,
    "ngrams": ngrams.run,
    "rounds": rounds.run,
}


def measure(study: Study, setting: str, bench: Harness, seeds: int) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, in the study's way, for so many ``seeds``; ``bench`` has what it
    asks."""
    return _WAYS[study.by](study, setting, bench.under(study.nuisance(setting)), study.seeds(setting, seeds))
