"""What a benchmark's headlines declare, whatever its evidence is, measured on many simulated models without writing
answers out.

Scores of texts are weighted sums of log-likelihoods. The weights are found by trial: the j-th request of every item is
answered with one nat, all others with none. The scores of a model are then one product with its log-likelihoods.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.evidence import Evidence
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.asked import Array
from biasatlas.simulation.experiment import COLUMNS
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study
from biasatlas.stats.intervals import confidence
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.rounds import level

#: How far a score may be from the sum that stands for it, in nats.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class LinearScores:
    """Scores of one task as sums of log-likelihoods: the rows if all of these are 0 (``constant``), and each request's
    weight in each column.

    ``weights`` are (requests of an item, rows) by column; ``place``, of the same shape, says which requests; -1: none.
    """

    constant: pd.DataFrame
    weights: dict[str, Array]
    place: np.ndarray

    @classmethod
    def of(cls, bench: Harness, task: str) -> "LinearScores":
        """The scores of ``task``. Raises ValueError if no column of them is such a sum."""
        requests = bench.requests[task].reset_index(drop=True)
        number = requests.groupby("item_id", sort=False).cumcount().to_numpy()
        count = number.max() + 1

        def scored(values: Array) -> pd.DataFrame:
            return bench.scored({task: bench.questions[task].told(values)}, "any")

        constant = scored(np.zeros(len(requests)))
        columns = [name for name in constant if constant[name].dtype.kind == "f"]
        tried = [scored((number == place).astype(float)) for place in range(count)]
        weights = {name: np.array([each[name] - constant[name] for each in tried]) for name in columns}
        of_item = pd.DataFrame({"number": number, "item_id": requests["item_id"], "at": requests.index})
        wide = of_item.pivot(index="number", columns="item_id", values="at").reindex(columns=constant["item_id"])
        place = wide.fillna(-1).to_numpy(int)
        found = cls(constant, weights, place)
        values = np.random.default_rng(0).normal(size=len(requests))
        sums, real = found.of_values(values), scored(values)
        linear = {
            name: weight
            for name, weight in weights.items()
            if np.allclose(sums[name], real[name], atol=_TOLERANCE, equal_nan=True)
        }
        if not linear:
            raise ValueError(f"{bench.benchmark}, {task}: no column of its scores is a sum of log-likelihoods")
        unknown = dict.fromkeys(weights.keys() - linear.keys(), np.nan)
        return cls(constant.assign(**unknown), linear, place)

    def of_values(self, values: Array) -> pd.DataFrame:
        """The scores of a model whose requests have these log-likelihoods; columns that are no sums are missing."""
        mine = np.where(self.place < 0, 0.0, np.append(values, 0.0)[self.place])
        sums = {name: (weight * mine).sum(axis=0) for name, weight in self.weights.items()}
        return self.constant.assign(**{name: self.constant[name] + each for name, each in sums.items()})


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, for all that the benchmark's headlines declare on tasks of texts.

    The ground truth of a dose is the estimate without noise, since the noise in a sum has mean 0. Raises ValueError if
    the evidence rests on scores that are no sums of log-likelihoods.
    """
    seeds, score = list(seeds), _scoring(study, bench)

    def found(entry: SimulatedEntry) -> list[Evidence]:
        return declared(bench, score(entry))

    first = study.entry(setting, seeds[0], bench.groups)
    quick, slow = found(first), declared(bench, bench.scores(first, "any"))
    if [_numbers(each) for each in quick] != [_numbers(each) for each in slow]:
        raise ValueError(f"{study.benchmark}: its evidence rests on scores that are no sums of log-likelihoods")
    truths = {}
    if setting.startswith("bias-"):
        exact = first.model_copy(update={"noise": 0.0})
        truths = {each.key: each.value for each in found(exact)}
    rows = [
        row(each, seed, truths.get(each.key, np.nan))
        for seed in seeds
        for each in found(study.entry(setting, seed, bench.groups))
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _scoring(study: Study, bench: Harness) -> Callable[[SimulatedEntry], pd.DataFrame]:
    linear = {task: LinearScores.of(bench, task) for task in study.tasks}

    def score(entry: SimulatedEntry) -> pd.DataFrame:
        parts = [linear[task].of_values(bench.questions[task].log_likelihoods(entry)) for task in study.tasks]
        return bench.disturbed(pd.concat(parts, ignore_index=True), entry.seed)

    return score


def sums(study: Study, setting: str, bench: Harness) -> Callable[[int], pd.DataFrame]:
    """A function from a seed to its model's scores of texts, as sums of log-likelihoods."""
    score = _scoring(study, bench)
    return lambda seed: score(study.entry(setting, seed, bench.groups))


def declared(bench: Harness, scores: pd.DataFrame) -> list[Evidence]:
    """The evidence from one model's ``scores`` for which a headline declares a null."""
    given = registry.evidence(bench.benchmark)
    if given is None:
        raise ValueError(f"{bench.benchmark} gives no evidence")
    return [each for each in given[1](scores, bench.options) if each.declared and each.declared.neutral is not None]


def row(evidence: Evidence, seed: int, ground_truth: float = np.nan) -> dict[str, Any]:
    """A row of an experiment; ``ground_truth`` is missing (NaN) if it is not known."""
    of = ", ".join(filter(None, [evidence.part, *evidence.category.split("-")]))
    return {"metric": evidence.metric, "of": of, "seed": seed, **_estimate(evidence), "ground_truth": ground_truth}


def _estimate(evidence: Evidence) -> dict[str, float]:
    """The columns of an experiment that hold an estimate."""
    with confidence(1 - level(evidence.analyses, ALPHA)):
        found = evidence.inference()
    own = evidence.own_p
    shown = not evidence.no_interval_reason()
    return {
        "value": evidence.value,
        "ci_low": evidence.root(found.low) if shown else np.nan,
        "ci_high": evidence.root(found.high) if shown else np.nan,
        "n": len(evidence.items),
        "n_clusters": found.n_clusters,
        "p_value": np.nan if own is None else own,
    }


def _numbers(evidence: Evidence) -> list[object]:
    told = _estimate(evidence)
    return [
        *evidence.key,
        *(round(told[name], 6) if told[name] == told[name] else None for name in ("value", "ci_low")),
    ]
