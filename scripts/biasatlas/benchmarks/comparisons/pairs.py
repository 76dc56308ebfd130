"""Two models on the same items: a difference is far more certain than either value, since effects of items cancel."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import Card
from biasatlas.benchmarks.comparisons.findings import KEYS as FINDINGS
from biasatlas.benchmarks.comparisons.findings import by_status, claims_of, verdict_keys, verdict_rows
from biasatlas.benchmarks.contract import Options
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, row
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence
from biasatlas.benchmarks.shared.stops import EARLY, Stop
from biasatlas.stats.clusters import proportion
from biasatlas.stats.verdict import Verdict, judge

KEYS = ("model", "other_model", *FINDINGS[1:-1])

_NO_STOPS: Mapping[str, Stop] = MappingProxyType({})

#: Evidence of one model by :attr:`Evidence.key`.
Found = Mapping[tuple[str, str, str], Evidence]


@dataclass(frozen=True)
class Answers:
    """One model's scores of a benchmark, with the name of each item's score as index."""

    scores: pd.DataFrame
    options: Options
    benchmark: str
    stop: Stop | None = None

    @classmethod
    def by_model(
        cls, scores: pd.DataFrame, benchmark: str, options: Options, stops: Mapping[str, Stop] = _NO_STOPS
    ) -> "dict[str, Answers]":
        """Model -> its answers in ``scores``; some were asked in rounds. Empty for a benchmark without evidence."""
        given = registry.evidence(benchmark)
        if given is None or scores.empty:
            return {}
        unit = list(given[0])
        names = pd.MultiIndex.from_frame(scores[unit]) if len(unit) > 1 else pd.Index(scores[unit[0]])
        indexed = scores.set_index(names)
        return {
            str(model): cls(rows, options, benchmark, stops.get(str(model)))
            for model, rows in indexed.groupby("model", sort=False)
        }

    def evidence(self) -> Found:
        """What they say about each metric."""
        given = registry.evidence(self.benchmark)
        if given is None:
            raise ValueError(f"{self.benchmark} gives no evidence")
        found = given[1](self.scores.reset_index(drop=True), self.options)
        return {each.key: each for each in (self.stop.seen(found) if self.stop else found)}

    def answered(self, status: str = "status") -> pd.Index:
        """Names of the items with a score, by the column ``status``."""
        return self.scores.index[self.scores[status] == "ok"]

    def of(self, names: pd.Index) -> "Answers":
        """The answers to some items."""
        return replace(self, scores=self.scores[self.scores.index.isin(names)])


@dataclass(frozen=True)
class BenchmarkEvidence:
    """A benchmark of a run, by its ``name`` there: each model's answers, and the evidence ``found`` in them."""

    name: str
    benchmark: str
    answers: Mapping[str, Answers]
    found: Mapping[str, Found]

    @classmethod
    def of(
        cls, scores: pd.DataFrame, name: str, benchmark: str, options: Options, stops: Mapping[str, Stop] = _NO_STOPS
    ) -> "BenchmarkEvidence":
        """From the scores of all models, and the stops of those that were asked in rounds."""
        answers = Answers.by_model(scores, benchmark, options, stops)
        return cls(name, benchmark, answers, {model: each.evidence() for model, each in answers.items()})


def are_asked_alike(run: BenchmarkEvidence) -> bool:
    """Whether all models of a benchmark were asked everything: only then are their numbers about the same items."""
    return not any(answers.stop and answers.stop.is_early for answers in run.answers.values())


@dataclass(frozen=True)
class _Pair:
    """Two models on one benchmark: for each metric the evidence of both, and of the first minus the second.

    The latter is None if the two answered different clusters. ``left_out`` counts items that one left out, by the
    column of their status, then by part and category.
    """

    models: tuple[str, str]
    run: BenchmarkEvidence
    found: Sequence[tuple[Evidence, Evidence, Evidence | None]]
    left_out: Mapping[str, Mapping[tuple[str, str], Counts]]

    @property
    def family(self) -> str:
        return "/".join((*self.models, self.run.name))

    def shorter(self) -> tuple[str, Stop] | None:
        """The model that was asked less, and where its asking stopped; None if both were asked everything."""
        stops = [(model, stop) for model in self.models if (stop := self.run.answers[model].stop) and stop.is_early]
        return min(stops, key=lambda each: len(each[1].asked), default=None)


def pairs_table(runs: Sequence[BenchmarkEvidence], protocol: str, cards: Sequence[Card]) -> pd.DataFrame:
    """Every two models of a benchmark, in their order: the first minus the other, on the items that both answered.

    ``difference`` of each metric has an interval over what its items are sampled in, and tests, corrected for all pairs
    of the run: a family is a pair on a benchmark. ``unpaired_error`` is the standard error without the pairing over
    that with it, and ``flipped`` the percentage of items on different sides of neutral. ``n`` counts items; the counts
    beside it are of items that one of the two left out. A metric without a headline has no verdict.
    """
    pairs = [pair for run in runs for pair in _pairs(run)]
    told = [
        claims_of([apart for *_, apart in pair.found if apart], pair.family, pair.run.benchmark, protocol, cards)
        for pair in pairs
    ]
    judged = iter(judge([claim for claims in told for _, claim in claims]))
    rows: list[dict] = []
    for pair, claims in zip(pairs, told, strict=True):
        verdicts = {evidence.key: _of_two(next(judged)) for evidence, _ in claims}
        shorter = pair.shorter()
        for first, second, apart in pair.found:
            said = list(_rows(pair, first, second, apart, verdicts.get(first.key)))
            rows += (_of_part(each, first.category, *shorter) for each in said) if shorter else said
    return make_table(KEYS, rows).astype({"of": "Int64"})


def _of_two(verdict: Verdict) -> Verdict:
    """A verdict whose words say of a difference what others say of a bias."""
    return verdict if verdict.state == "untestable" else replace(verdict, why=verdict.why.replace("bias", "difference"))


def _of_part(row: Mapping[str, object], category: str, model: str, stop: Stop) -> dict[str, object]:
    """A ``row`` of a pair, with the remark that one ``model`` was asked less, until its ``stop``."""
    part = f"of the {len(stop.asked):,} of {stop.of:,} items that {model} was asked; {EARLY}"
    why = row["why"] if row["verdict"] in ("", "untestable") else f"{row['why']}; {part}"
    return {**row, "of": stop.of_category(category), "why": why}


def _pairs(run: BenchmarkEvidence) -> Iterator[_Pair]:
    for pair in itertools.combinations(run.answers, 2):
        answers = [run.answers[model] for model in pair]
        asked = answers[0].scores.index.intersection(answers[1].scores.index)
        mine = [
            found if each.scores.index.isin(asked).all() else each.of(asked).evidence()
            for each, found in ((run.answers[model], run.found[model]) for model in pair)
        ]
        shared: dict[tuple[str, str, str], tuple[Evidence, Evidence]] = {}
        for status in dict.fromkeys(evidence.status for found in mine for evidence in found.values()):
            known = [each.answered(status).intersection(asked) for each in answers]
            both = known[0].intersection(known[1])
            one, two = (
                found if len(both) == len(names) else each.of(both).evidence()
                for each, found, names in zip(answers, mine, known, strict=True)
            )
            for key in one:
                if key in two and one[key].status == status:
                    shared[key] = _with_missing((one[key], two[key]), (mine[0][key], mine[1][key]))
        found = [(*shared[key], _apart(*shared[key])) for key in mine[0] if key in shared]
        one, two = (each.scores for each in answers)
        left_out = {status: _left_out(one, two, status) for status in dict.fromkeys(each.status for each, *_ in found)}
        yield _Pair(pair, run, found, left_out)


def _with_missing(both: tuple[Evidence, Evidence], asked: tuple[Evidence, Evidence]) -> tuple[Evidence, Evidence]:
    """The evidence of two models on the items that ``both`` answered, with the values that missing answers could have
    led to in the evidence on all items ``asked``."""
    if all(each.missing is None for each in asked):
        return both
    limits = (each.missing or (each.replicates.value, each.replicates.value) for each in asked)
    one, two = (replace(each, missing=limit) for each, limit in zip(both, limits, strict=True))
    return one, two


def _apart(first: Evidence, second: Evidence) -> Evidence | None:
    try:
        return first.minus(second)
    except ValueError:  # only one of them has weight in some cluster
        return None


def _left_out(first: pd.DataFrame, second: pd.DataFrame, column: str) -> dict[tuple[str, str], Counts]:
    """Items that one of the two did not answer, by part and category, by the status of the first that did not."""
    units = by_status(first, column)
    if first.index.is_unique and second.index.is_unique:
        other = second[column].reindex(first.index).fillna("failed")
        units = units.assign(status=units["status"].where(units["status"] != "ok", other))
    columns = [name for name in ("task", "condition") if name in units]
    parts = {"": units} | {str(part): of for name in columns for part, of in units.groupby(units[name].to_numpy())}
    found = {(part, OVERALL): Counts.of(of) for part, of in parts.items()}
    for part, of in parts.items():
        by_category = of.groupby(of["category"].map(_either_way).to_numpy())
        found |= {(part, str(category)): Counts.of(each) for category, each in by_category}
    return found


def _either_way(category: str) -> str:
    """A category's name; the same for two groups in either direction."""
    return "-".join(sorted(category.split("-")))


def _rows(
    pair: _Pair, first: Evidence, second: Evidence, apart: Evidence | None, verdict: Verdict | None
) -> Iterator[dict[str, object]]:
    shared = first.items.index.intersection(second.items.index)
    n, counts = len(shared), pair.left_out[first.status].get((first.part, _either_way(first.category)), Counts())
    keys: dict[str, object] = dict(zip(KEYS, (*pair.models, pair.run.name, *first.key), strict=False))
    if apart is None:
        value, reason = first.replicates.value - second.replicates.value, "the models answered different clusters"
        words = {"unit": first.unit, "verdict": "untestable" if first.declared else "", "why": reason}
        yield row(keys | words, "difference", Estimate(first.root(value), n=n, no_interval_reason=reason), counts)
        return
    inference = apart.inference()
    if verdict is None:
        keys |= {"unit": apart.unit, "verdict": "", "why": ""}
        yield row(keys, "difference", Estimate.of(inference, n), counts)
    else:
        keys |= verdict_keys(verdict, apart)
        yield from verdict_rows(
            keys, "difference", verdict, apart.no_interval_reason(), n, inference.n_clusters, counts
        )
    one, two, together = (each.replicates.inference().se for each in (first, second, apart))
    unpaired = math.hypot(one, two) / together if together > 0 else math.nan
    yield row(keys, "unpaired_error", Estimate(unpaired, n=n, n_clusters=inference.n_clusters), counts)
    signs = pd.DataFrame({"one": first.items["side"][shared], "two": second.items["side"][shared]}).dropna()
    if len(signs):
        flipped = (signs["one"] != signs["two"]).astype(float)
        clusters = first.items["cluster"][signs.index]
        share = proportion(flipped, np.ones(len(flipped)), clusters)
        yield row(keys, "flipped", Estimate.of(share, len(flipped), scale=100), counts)


def joined(tables: Sequence[pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """The tables of several benchmarks as one; an empty one if there are none."""
    return pd.concat(tables, ignore_index=True) if tables else make_table(keys, [])
