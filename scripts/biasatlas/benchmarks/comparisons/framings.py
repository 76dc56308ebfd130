"""Does a verdict hold however the question is framed, and how much of a number is the model, the framing, the items?"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks.comparisons.findings import Card, Key, claims_of
from biasatlas.benchmarks.comparisons.pairs import Answers, BenchmarkEvidence, Found
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, row
from biasatlas.benchmarks.shared.evidence import Evidence
from biasatlas.stats import Array
from biasatlas.stats.components import combination, mean_squares
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.verdict import Verdict, judge

#: ``model`` is empty for what is over models. ``source`` is a framing, or what numbers vary with; ``verdict`` is that of a framing
#: by itself.
KEYS = ("model", "benchmark", "measure", "part", "category", "unit", "source", "verdict")

#: The protocol's own framing, of the items that the others ask.
OWN = "as asked"

#: Axes of a layout: models, framings, clusters.
_MODEL, _FRAMING, _CLUSTER = range(3)


@dataclass(frozen=True)
class FramedEvidence:
    """What a benchmark's models say of each metric, by framing, of the same items and tasks: ``by_framing`` holds
    the protocol's own first. ``clusters`` counts those of all that was asked, by model and metric."""

    name: str
    benchmark: str
    by_framing: Mapping[str, Mapping[str, Found]]
    clusters: Mapping[tuple[str, Key], int]

    @classmethod
    def of(cls, run: BenchmarkEvidence, framed: pd.DataFrame) -> "FramedEvidence":
        """Of a run, and its models' scores under other framings (with a column ``framing``)."""
        own: dict[str, Found] = {}
        found: dict[str, dict[str, Found]] = {OWN: own}
        for model, answers in run.answers.items():
            mine = framed[framed["model"] == model]
            if mine.empty:
                continue
            for name, rows in mine.groupby("framing", sort=False):
                part = Answers.by_model(rows.drop(columns="framing"), run.benchmark, answers.options)[model]
                found.setdefault(str(name), {})[model] = part.evidence()
                if model not in own:
                    scores = answers.scores[answers.scores["task"].isin(mine["task"])]
                    own[model] = replace(answers, scores=scores).of(part.scores.index).evidence()
        counts = {(model, key): len(each.replicates.without) for model in own for key, each in run.found[model].items()}
        return cls(run.name, run.benchmark, found, counts)

    def verdicts(
        self, protocol: str, cards: Sequence[Card], alpha: float = ALPHA
    ) -> dict[tuple[str, str, Key], Verdict]:
        """Each claim under each framing by itself, at the level ``alpha``: (model, framing, metric) -> verdict."""
        return {
            (model, framing, evidence.key): judge([replace(claim, member=True)], alpha)[0]
            for framing, models in self.by_framing.items()
            for model, found in models.items()
            for evidence, claim in claims_of(found.values(), model, self.benchmark, protocol, cards)
        }

    def robustness(self, protocol: str, cards: Sequence[Card]) -> dict[tuple[str, str, Key], "Robustness"]:
        """(model, benchmark's name, metric) -> how its verdict fares under the other framings."""
        others = [name for name in self.by_framing if name != OWN]
        alone = self.verdicts(protocol, cards)
        together = self.verdicts(protocol, cards, ALPHA / max(len(others), 1))
        return {
            (model, self.name, key): Robustness(
                {name: alone[model, name, key] for name in others if (model, name, key) in alone},
                {name: together[model, name, key] for name in others if (model, name, key) in together},
            )
            for model, framing, key in alone
            if framing == OWN
        }


@dataclass(frozen=True)
class Robustness:
    """The verdicts of a claim under other framings: ``alone``, each at the level of one test, and ``together``, at that of all.

    All of them must agree for a verdict to be robust, which needs no correction; that one of many disagrees does.
    """

    alone: Mapping[str, Verdict]
    together: Mapping[str, Verdict]

    def words(self, verdict: Verdict) -> str:
        """What is said behind a ``verdict``; empty where nothing was decided that could move."""
        if verdict.state not in ("biased", "unbiased") or not self.alone:
            return ""
        moved = [name for name, other in self.together.items() if _opposed(verdict, other)]
        if moved:
            said = ", ".join(f"{_words(self.together[name])} with {name}" for name in moved)
            return f"moves with the framing: {said}"
        same = sum(_direction(other) == _direction(verdict) for other in self.alone.values())
        if same == len(self.alone):
            return f"robust: the same in {'the' if same == 1 else f'all {same}'} other framing{'s' * (same > 1)}"
        return f"not known to be robust: {len(self.alone) - same} of {len(self.alone)} other framings do not decide it"


def _direction(verdict: Verdict) -> float | None:
    """0: unbiased; 1 and -1: biased to that side; None: not decided."""
    if verdict.state == "biased":
        return math.copysign(1.0, verdict.value - verdict.neutral)
    return 0.0 if verdict.state == "unbiased" else None


def _opposed(one: Verdict, other: Verdict) -> bool:
    return _direction(other) not in (None, _direction(one))


def _words(verdict: Verdict) -> str:
    return verdict.state if verdict.state == "unbiased" else f"biased at {verdict.value:.3g}"


def framings_table(framed: Sequence[FramedEvidence], protocol: str, cards: Sequence[Card]) -> pd.DataFrame:
    """What each model says under each framing, and what numbers vary with.

    ``value`` is the metric under a framing, of the items that all framings ask; ``verdict`` what it claims by itself there.
    ``spread`` is the standard deviation between numbers that comes from a ``source``: the model, the framing (its own effect on
    each model among it), or the items (the draw of answers among them), with the interval of Ting et al. (1990) on a crossed layout of
    models, framings and clusters. ``variance_share`` is its share of the variance of all three; of a model's own rows of
    the latter two. The items' is that of numbers from all items. Metrics that are roots have neither.
    """
    rows = [each for run in framed for each in _rows(run, run.verdicts(protocol, cards))]
    return make_table(KEYS, rows)


def _rows(run: FramedEvidence, verdicts: Mapping[tuple[str, str, Key], Verdict]) -> Iterator[dict[str, object]]:
    for model, framing, key in verdicts:
        evidence = run.by_framing[framing][model][key]
        keys = _keys(run, model, evidence, framing) | {"verdict": verdicts[model, framing, key].state}
        inference = replace(evidence.inference(), reason=evidence.no_interval_reason())
        if inference.reason:
            inference = replace(inference, low=math.nan, high=math.nan)
        ends = [evidence.root(number) for number in (inference.value, inference.low, inference.high)]
        inference = replace(inference, value=ends[0], low=ends[1], high=ends[2])
        yield row(keys, "value", Estimate.of(inference, len(evidence.items)), Counts())
    for key in dict.fromkeys(key for _, _, key in verdicts):
        by_model = {model: _layout(run, model, key) for model in run.by_framing[OWN]}
        known = {model: values for model, values in by_model.items() if values is not None}
        for model, values in known.items():
            yield from _sources(run, model, key, [values], run.clusters[model, key])
        if len(known) > 1:
            fewest = min(run.clusters[model, key] for model in known)
            yield from _sources(run, "", key, list(known.values()), fewest)


def _keys(run: FramedEvidence, model: str, evidence: Evidence, source: str) -> dict[str, object]:
    unit = evidence.unit
    return dict(zip(KEYS, (model, run.name, *evidence.key, unit, source, ""), strict=True))


def _layout(run: FramedEvidence, model: str, key: Key) -> pd.DataFrame | None:
    """A metric's jackknife pseudo-values, (framings, clusters), of the clusters that all framings have; None where one lacks it."""
    parts = []
    for models in run.by_framing.values():
        evidence = models.get(model, {}).get(key)
        if evidence is None or evidence.squared:
            return None
        without = evidence.replicates.without.dropna()
        parts.append(len(without) * evidence.replicates.value - (len(without) - 1) * without)
    return pd.concat(parts, axis=1).dropna().T


def _sources(
    run: FramedEvidence, model: str, key: Key, layouts: Sequence[pd.DataFrame], clusters: int
) -> Iterator[dict[str, object]]:
    """Rows on what a metric's numbers vary with: of one model, or of several ('')."""
    shared = layouts[0].columns
    for other in layouts[1:]:
        shared = shared.intersection(other.columns)
    evidence = next(found[key] for models in run.by_framing.values() for found in models.values() if key in found)
    values = np.stack([layout[shared].to_numpy(float) for layout in layouts])
    if len(shared) < 2:
        return
    found = components(values, clusters)
    total = sum(max(value, 0.0) for value, _, _ in found.values())
    for source, component in found.items():
        value, low, high = (math.sqrt(max(each, 0.0)) for each in component)
        keys = _keys(run, model, evidence, source)
        yield row(keys, "spread", Estimate(value, low, high, values.shape[1], len(shared)))
        if total > 0:
            share = Estimate(
                100 * value**2 / total,
                n=values.shape[1],
                no_interval_reason="a ratio of variances: `spread` has intervals",
            )
            yield row(keys, "variance_share", share)


def components(values: Array, clusters: int) -> dict[str, tuple[float, float, float]]:
    """What the variance of a number comes from, with intervals: source -> (value, low, high), squares of the metric's unit.

    ``values`` is (models, framings, clusters), of which a number is a mean over clusters; ``clusters`` is how many it has where
    everything is asked. A single model has no component "model".
    """
    models, framings, n = values.shape
    squares = mean_squares(values)
    together, clustered = {_MODEL, _FRAMING}, {axes: square.df for axes, square in squares.items() if _CLUSTER in axes}
    both, all_three = tuple(sorted(together)), (_MODEL, _FRAMING, _CLUSTER)
    own, share = (1 - 1 / models) / n, 1 / (models * n)
    weights = {
        "model": {
            (_MODEL,): 1 / (framings * n),
            both: -1 / (framings * n),
            (_MODEL, _CLUSTER): -1 / (framings * n),
            all_three: 1 / (framings * n),
        },
        "framing": {(_FRAMING,): share, both: own, (_FRAMING, _CLUSTER): -share, all_three: -own},
        "items": {axes: df / (models * framings * (n - 1) * clusters) for axes, df in clustered.items()},
    }
    if models == 1:
        del weights["model"]
    return {source: combination(squares, of) for source, of in weights.items()}
