"""Two models on the same items: a difference is far surer than either value, since the items' accidents cancel."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contract import Options
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, row
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence
from biasatlas.stats.clusters import proportion

KEYS = ("model", "other_model", "benchmark", "measure", "part", "category")

#: Evidence of one model by :attr:`Evidence.key`.
Found = Mapping[tuple[str, str, str], Evidence]


@dataclass(frozen=True)
class Answers:
    """One model's scores of a benchmark, with the name of each item's score as index."""

    scores: pd.DataFrame
    options: Options
    benchmark: str

    @classmethod
    def by_model(cls, scores: pd.DataFrame, benchmark: str, options: Options) -> "dict[str, Answers]":
        """Those of each model in ``scores``; none where the benchmark gives no evidence."""
        given = registry.evidence(benchmark)
        if given is None or scores.empty:
            return {}
        unit = list(given[0])
        names = pd.MultiIndex.from_frame(scores[unit]) if len(unit) > 1 else pd.Index(scores[unit[0]])
        indexed = scores.set_index(names)
        return {str(model): cls(rows, options, benchmark) for model, rows in indexed.groupby("model", sort=False)}

    def evidence(self) -> Found:
        """What they say of each metric."""
        given = registry.evidence(self.benchmark)
        if given is None:
            raise ValueError(f"{self.benchmark} gives no evidence")
        return {each.key: each for each in given[1](self.scores.reset_index(drop=True), self.options)}

    def answered(self) -> pd.Index:
        """Names of the items with a score."""
        return self.scores.index[self.scores["status"] == "ok"]

    def of(self, names: pd.Index) -> "Answers":
        """Of some items."""
        return Answers(self.scores[self.scores.index.isin(names)], self.options, self.benchmark)


@dataclass(frozen=True)
class BenchmarkEvidence:
    """A benchmark of a run, by its ``name`` there: each model's answers, and what they say."""

    name: str
    benchmark: str
    answers: Mapping[str, Answers]
    found: Mapping[str, Found]

    @classmethod
    def of(cls, scores: pd.DataFrame, name: str, benchmark: str, options: Options) -> "BenchmarkEvidence":
        """From the scores of all models."""
        answers = Answers.by_model(scores, benchmark, options)
        return cls(name, benchmark, answers, {model: each.evidence() for model, each in answers.items()})


def pairs_table(with_evidence: BenchmarkEvidence) -> pd.DataFrame:
    """Every two models of a benchmark, in their order: the first minus the other, of the items that both answered.

    ``difference`` of each metric with an interval over clusters, its ``difference_p``, ``unpaired_error`` (the standard error
    without the pairing, over the one with it) and ``flipped``, percent of items on different sides of neutral. ``n`` counts
    items; the counts beside are of the items that one of the two left out.
    """
    models, whole = with_evidence.answers, with_evidence.found
    answered = {model: answers.answered() for model, answers in models.items()}
    rows: list[dict] = []
    for first, second in itertools.combinations(models, 2):
        both = answered[first].intersection(answered[second])
        found = [
            whole[model] if len(both) == len(answered[model]) else models[model].of(both).evidence()
            for model in (first, second)
        ]
        left_out = _left_out(models[first].scores, models[second].scores)
        for key in found[0]:
            if key in found[1]:
                keys = dict(zip(KEYS, (first, second, with_evidence.name, *key), strict=True))
                rows += _rows(keys, found[0][key], found[1][key], left_out.get(key[-1], Counts()))
    return make_table(KEYS, rows)


def _left_out(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Counts]:
    """Items that one of the two did not answer, by category and over all, by the status of the first that did not."""
    units = first[["category", "status"]]
    if first.index.is_unique and second.index.is_unique:
        other = second["status"].reindex(first.index).fillna("failed")
        units = units.assign(status=units["status"].where(units["status"] != "ok", other))
    by_category = {str(category): Counts.of(part) for category, part in units.groupby(units["category"].to_numpy())}
    return by_category | {OVERALL: Counts.of(units)}


def _rows(keys: Mapping[str, str], first: Evidence, second: Evidence, counts: Counts) -> Iterator[dict[str, object]]:
    shared = first.items.index.intersection(second.items.index)
    n = len(shared)
    try:
        inference = replace(first, replicates=first.replicates.minus(second.replicates), bounds=None).inference()
    except ValueError:  # clusters that only one of them has weight in
        inference = None
    if inference is None:
        value = first.replicates.value - second.replicates.value
        yield row(
            keys,
            "difference",
            Estimate(value, n=n, no_interval_reason="the models answered different clusters"),
            counts,
        )
        return
    yield row(keys, "difference", Estimate.of(inference, n), counts)
    yield row(keys, "difference_p", Estimate(inference.p_value(), n=n, n_clusters=inference.n_clusters), counts)
    one, two = (each.replicates.inference().se for each in (first, second))
    unpaired = math.hypot(one, two) / inference.se if inference.se > 0 else math.nan
    yield row(keys, "unpaired_error", Estimate(unpaired, n=n, n_clusters=inference.n_clusters), counts)
    sides = pd.DataFrame({"one": first.items["side"][shared], "two": second.items["side"][shared]}).dropna()
    if len(sides):
        flipped = (sides["one"] != sides["two"]).astype(float)
        clusters = first.items["cluster"][sides.index]
        share = proportion(flipped, np.ones(len(flipped)), clusters)
        yield row(keys, "flipped", Estimate.of(share, len(flipped), scale=100), counts)


def joined(tables: Sequence[pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """Tables of several benchmarks end to end."""
    return pd.concat(tables, ignore_index=True) if tables else make_table(keys, [])
