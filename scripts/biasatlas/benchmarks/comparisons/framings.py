"""Does a verdict hold under other framings, and how much of a number is due to model, framing, items and draw?"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks.comparisons.findings import Card, Key, claims_of
from biasatlas.benchmarks.comparisons.pairs import Answers, BenchmarkEvidence, Found
from biasatlas.benchmarks.shared.estimates import Estimate, make_table, row
from biasatlas.benchmarks.shared.framing_design import AGAIN
from biasatlas.stats import Array
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.regression import MeanSquare, combination, mean_squares
from biasatlas.stats.verdict import Verdict, judge

#: ``model`` is empty for rows over models. ``source`` is a framing, or what numbers vary with; ``verdict`` is that
#: under a framing, tested alone.
KEYS = ("model", "benchmark", "measure", "part", "category", "unit", "source", "verdict")

#: The protocol's own framing, on the items that the others ask.
OWN = "as asked"
#: How a remark begins on a verdict that differs under a framing.
MOVES = "moves with the framing"

#: Verdicts by model, framing and metric.
Verdicts = Mapping[tuple[str, str, Key], Verdict]


@dataclass(frozen=True)
class FramedEvidence:
    """A ``run``, and its evidence by framing and model: the protocol's own, each other one, and each drawn again."""

    run: BenchmarkEvidence
    found: Mapping[str, Mapping[str, Found]]

    @classmethod
    def of(cls, run: BenchmarkEvidence, framed: pd.DataFrame) -> "FramedEvidence":
        """From a run, and its models' scores under other framings (with a column ``framing``)."""
        found: dict[str, dict[str, Found]] = {OWN: {}}
        for (model, name), rows in framed.groupby(["model", "framing"], sort=False):
            answers = run.answers[model]
            part = Answers.by_model(rows.drop(columns="framing"), run.benchmark, answers.options)[model]
            found.setdefault(name, {})[model] = part.evidence()
            if model not in found[OWN]:
                scores = answers.scores[answers.scores["task"].isin(rows["task"])]
                found[OWN][model] = replace(answers, scores=scores).of(part.scores.index).evidence()
        return cls(run, found)

    @property
    def framings(self) -> list[str]:
        """All framings, the protocol's own first."""
        return [name for name in self.found if not name.endswith(AGAIN)]

    def verdicts(self, protocol: str, cards: Sequence[Card], alpha: float = ALPHA) -> Verdicts:
        """The verdict on each claim under each framing, tested alone at the level ``alpha``."""
        return {
            (model, framing, evidence.key): judge([replace(claim, member=True)], alpha)[0]
            for framing in self.framings
            for model, found in self.found[framing].items()
            for evidence, claim in claims_of(found.values(), model, self.run.benchmark, protocol, cards)
        }

    def robustness(self, protocol: str, cards: Sequence[Card]) -> dict[tuple[str, str, Key], "Robustness"]:
        """(model, benchmark's name, metric) -> how its verdict fares under the other framings."""
        _, *others = self.framings
        alone, together = (self.verdicts(protocol, cards, level) for level in (ALPHA, ALPHA / max(len(others), 1)))
        return {
            (model, self.run.name, key): Robustness(
                *(
                    {name: of[model, name, key] for name in others if (model, name, key) in of}
                    for of in (alone, together)
                )
            )
            for model, framing, key in alone
            if framing == OWN
        }


@dataclass(frozen=True)
class Robustness:
    """A claim's verdicts under other framings: ``alone``, at the level of one test; ``together``, corrected for all.

    A verdict is robust if all of them agree, which needs no correction; that one of many disagrees does.
    """

    alone: Mapping[str, Verdict]
    together: Mapping[str, Verdict]

    def words(self, verdict: Verdict) -> str:
        """A remark after a ``verdict``; empty if nothing was decided that could move."""
        own = _direction(verdict)
        if own is None or not self.alone:
            return ""
        moved = [
            f"{other.state}{f' at {other.value:.3g}' if other.state == 'biased' else ''} with {name}"
            for name, other in self.together.items()
            if _direction(other) not in (None, own)
        ]
        if moved:
            return f"{MOVES}: {', '.join(moved)}"
        n, same = len(self.alone), sum(_direction(other) == own for other in self.alone.values())
        if same == n:
            return f"robust: the same in {'the' if n == 1 else f'all {n}'} other framing{'s' * (n > 1)}"
        return f"not known to be robust: {n - same} of {n} other framings do not decide it"


def _direction(verdict: Verdict) -> float | None:
    """0: unbiased; 1 and -1: biased to that side; None: not decided."""
    if verdict.state == "biased":
        return math.copysign(1.0, verdict.value - verdict.neutral)
    return 0.0 if verdict.state == "unbiased" else None


def framings_table(framed: Sequence[FramedEvidence], protocol: str, cards: Sequence[Card]) -> pd.DataFrame:
    """Each model's numbers under each framing, and what numbers vary with.

    ``value`` is the metric under a framing, on the items that all framings ask; ``verdict`` is that of this number
    alone. ``spread`` is the standard deviation between numbers that comes from a ``source`` (:func:`components`), for
    one model and for all; ``variance_share`` is its share of the variance from all sources. Roots have neither.
    """
    return make_table(KEYS, [each for run in framed for each in _rows(run, run.verdicts(protocol, cards))])


def _rows(framed: FramedEvidence, verdicts: Verdicts) -> Iterator[dict[str, object]]:
    for (model, framing, key), verdict in verdicts.items():
        evidence = framed.found[framing][model][key]
        found, reason = evidence.inference(), evidence.no_interval_reason()
        value, *ends = (evidence.root(number) for number in (found.value, found.low, found.high))
        low, high = (math.nan, math.nan) if reason else ends
        keys = (model, framed.run.name, *key, evidence.unit, framing, verdict.state)
        estimate = Estimate(value, low, high, len(evidence.items), found.n_clusters, reason)
        yield row(dict(zip(KEYS, keys, strict=True)), "value", estimate)
    models = list(framed.found[OWN])
    for key, unit in {key: framed.found[OWN][model][key].unit for model, name, key in verdicts if name == OWN}.items():
        for some in [*([model] for model in models), *([models] if len(models) > 1 else [])]:
            layout = _layout(framed, some, key)
            sources = components(*layout) if layout else {}
            total = sum(max(value, 0.0) for value, *_ in sources.values())
            for source, component in sources.items():
                name = some[0] if len(some) == 1 else ""
                named = dict(zip(KEYS, (name, framed.run.name, *key, unit, source, ""), strict=True))
                value, low, high = (math.sqrt(max(each, 0.0)) for each in component)
                yield row(named, "spread", Estimate(value, low, high, len(framed.framings)))
                if total > 0:
                    why = "a ratio of variances: `spread` has intervals"
                    yield row(named, "variance_share", Estimate(100 * value**2 / total, no_interval_reason=why))


def _layout(framed: FramedEvidence, models: Sequence[str], key: Key) -> tuple[Array, Array | None, int] | None:
    """The arguments of :func:`components`: a metric's jackknife pseudo-values, for the clusters that all cells have;
    how far it moves when answers are drawn again; and how many clusters the whole run has (the fewest of any model).
    None with fewer than two clusters, or if a model or framing lacks the metric."""
    cells = [[framed.found[name].get(model, {}).get(key) for name in framed.framings] for model in models]
    known = [each for row in cells for each in row if each is not None and not each.squared]
    if len(known) < len(models) * len(framed.framings):
        return None
    parts = [(each.replicates.value, each.replicates.without.dropna()) for each in known]
    pseudo = pd.concat([len(part) * value - (len(part) - 1) * part for value, part in parts], axis=1).dropna()
    if len(pseudo) < 2:
        return None
    drawn = [
        framed.found.get(name + AGAIN, {}).get(model, {}).get(key) for model in models for name in framed.framings[1:]
    ]
    values = [framed.found[name][model][key].value for model in models for name in framed.framings[1:]]
    moved = [other.value - value for other, value in zip(drawn, values, strict=True) if other]
    clusters = min(len(framed.run.found[model][key].replicates.without) for model in models)
    return pseudo.T.to_numpy(float).reshape(len(models), -1, len(pseudo)), np.array(moved) if moved else None, clusters


def components(values: Array, moved: Array | None, clusters: int) -> dict[str, tuple[float, float, float]]:
    """The parts of a number's variance, with intervals: source -> (value, low, high), squares of the metric's unit.

    ``values`` is (models, framings, clusters), all crossed; a number is a mean over clusters. ``moved`` is how far
    numbers of these clusters move when answers are drawn again (None: nothing is drawn); ``clusters`` is how many there
    are if everything is asked. "framing" is its effect on all models and on each; with one model, "model" is absent.
    """
    models, framings, n = values.shape
    squares = mean_squares(values)
    both, all_three, own, share = (0, 1), (0, 1, 2), (1 - 1 / models) / n, 1 / (models * n)
    weights = {
        "model": {(0,): 1, both: -1, (0, 2): -1, all_three: 1},
        "framing": {(1,): share, both: own, (1, 2): -share, all_three: -own},
        "items": {axes: of.df / (models * framings * (n - 1) * clusters) for axes, of in squares.items() if 2 in axes},
    }
    weights["model"] = {axes: weight / (framings * n) for axes, weight in weights["model"].items()}
    if models == 1:
        del weights["model"]
    if moved is not None:
        squares[3,] = MeanSquare(float((moved**2).mean()), len(moved))
        weights["items"][3,], weights["draw"] = -n / clusters, {(3,): n / clusters}
    return {source: combination(squares, of) for source, of in weights.items()}
