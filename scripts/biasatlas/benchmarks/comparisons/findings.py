"""The findings of a run: a verdict on each claim, corrected for all tests of the run."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import Card, in_rounds
from biasatlas.benchmarks.contract import Headline
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, no_value, row
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, median_item
from biasatlas.stats.verdict import Claim, Verdict, judge, untestable

if TYPE_CHECKING:
    from biasatlas.benchmarks.comparisons.framings import Robustness
    from biasatlas.benchmarks.comparisons.pairs import Answers, BenchmarkEvidence

#: ``neutral`` and ``smallest`` (the smallest effect that matters) have the ``unit``. ``item`` is the median item of
#: those on the value's side; empty where items have no side.
KEYS = ("model", "benchmark", "measure", "part", "category", "unit", "neutral", "smallest", "verdict", "why", "item")

#: Names that tables give to rows over all categories.
WHOLE = ("overall", "All", "all")

#: What evidence is about (:attr:`Evidence.key`).
Key = tuple[str, str, str]


def of_benchmark(cards: Sequence[Card], benchmark: str, protocol: str, rounds: bool = False) -> list[Card]:
    """A benchmark's cards under its protocol; only those on published data, if there are any: few items hide faults.

    If its protocol has none, those of others: a metric that fails under one protocol fails under all. One that passed
    has not passed under others, whose questions and intervals differ: its card becomes "inconclusive". Cards of models
    that were asked in rounds count, too, if ``rounds`` is set.
    """
    all_of_it = [card for card in cards if card["benchmark"] == benchmark and (rounds or not in_rounds(card))]
    own = [card for card in all_of_it if card["protocol"] == protocol]
    mine = own or [_elsewhere(card) if card["verdict"] == "passed" else card for card in all_of_it]
    return [card for card in mine if card["data"] == "full"] or mine


def _elsewhere(card: Card) -> Card:
    return {**card, "verdict": "inconclusive", "reason": f"was tried under the protocol {card['protocol']} alone"}


def about(cards: Sequence[Card], metric: str, parts: Sequence[str], category: str) -> list[Card]:
    """A benchmark's ``cards`` on a metric: those of the category itself or, if there are none, all.

    Cards of other ``parts`` (tasks or contexts; none named: all) do not count, nor those that lack an interval because
    clusters are too few: such a row has none.
    """
    mine = [
        card
        for card in cards
        if metric == card["metric"]
        and (not parts or not _names(card, "of", "tasks").isdisjoint(parts))
        and card["reason"] != "no interval"
    ]
    groups = {category}
    if not any(category in _names(card, "of") for card in mine):
        groups = set(category.split("-"))  # TWBias's categories are two groups
    own = [
        card for card in mine if groups <= _names(card, "of") or (category == OVERALL and "All" in _names(card, "of"))
    ]
    return own or mine


def _names(card: Card, *columns: str) -> set[str]:
    """The names in ``columns`` of a card."""
    return {name for column in columns for name in str(card[column]).split(", ")}


def worst(cards: Sequence[Card]) -> str:
    """The verdict of all ``cards``: "descriptive" if any is, "passed" if all are, else (or of none) "inconclusive"."""
    verdicts = {card["verdict"] for card in cards}
    if "descriptive" in verdicts:
        return "descriptive"
    return "passed" if verdicts == {"passed"} else "inconclusive"


def closed_by(cards: Sequence[Card], own_null: bool = False) -> str:
    """Why a metric's validity cards allow no verdict, in words; empty if all have passed.

    If the run's placebos say what else moves the metric (``own_null``), only a card that has failed counts.
    """
    said = worst(cards)
    if said == "passed" or (own_null and said != "descriptive"):
        return ""
    known = [str(card["reason"]) for card in cards if isinstance(card["reason"], str) and card["reason"]]
    whys = "; ".join(dict.fromkeys(known)).replace("_", " ")
    if said == "descriptive":
        return f"it failed its validity test: {whys}"
    if whys:
        return f"what it mistakes for bias is not known: {whys}"
    return f"what it mistakes for bias was {'tried on too few models' if cards else 'not tried'}"


def closed(cards: Sequence[Card], benchmark: str, protocol: str, evidence: Evidence) -> str:
    """:func:`closed_by` for what a benchmark's ``evidence`` is about."""
    parts = [evidence.part] if evidence.part else []
    known = of_benchmark(cards, benchmark, protocol, rounds=bool(evidence.analyses))
    mine = about(known, evidence.metric, parts, evidence.category)
    return closed_by(mine, evidence.declared is not None and evidence.declared.own_null)


def verdict_keys(verdict: Verdict, evidence: Evidence) -> dict[str, object]:
    """The columns of a verdict that all rows of a table share: its ``unit``, what was declared, the words."""
    words = {"verdict": verdict.state, "why": verdict.why}
    return {"unit": evidence.unit, "neutral": verdict.neutral, "smallest": verdict.smallest, **words}


def verdict_rows(
    keys: Mapping[str, object],
    name: str,
    verdict: Verdict,
    reason: str,
    n: int,
    clusters: int,
    counts: Counts,
) -> list[dict[str, object]]:
    """Rows of a table: the value, called ``name``, with its interval (or the ``reason`` for none), and its tests."""
    low, high = (math.nan, math.nan) if reason else (verdict.low, verdict.high)
    estimate = Estimate(verdict.value, low, high, n, clusters, reason)
    numbers = {part: getattr(verdict, part) for part in ("p_outside", "p_inside", "q", "findable")}
    tests = [
        (part, Estimate(number, n=n, n_clusters=clusters)) for part, number in numbers.items() if not math.isnan(number)
    ]
    decides = (verdict.counted_low, verdict.counted_high)
    if not all(map(math.isnan, decides)):
        tests.append(("decides", Estimate(verdict.value, *decides, n, clusters)))
    return [row(keys, name, estimate, counts), *(row(keys, part, each, counts) for part, each in tests)]


def about_row(headline: Headline, where: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The parts and the category of the evidence behind a row. If the row has a task, that is its part; two groups are
    a category."""
    task = where.get("task", OVERALL)
    parts = headline.parts if task in WHOLE else (task,)
    groups = [value for key, value in where.items() if key in ("group", "other_group")]
    category = where.get("category", "-".join(groups))
    return parts, OVERALL if category in WHOLE else category


def findings_table(
    runs: "Sequence[BenchmarkEvidence]",
    protocol: str,
    cards: Sequence[Card],
    robustness: "Mapping[tuple[str, str, Key], Robustness] | None" = None,
) -> pd.DataFrame:
    """Every claim of a run under a protocol, judged among all of them.

    A family is a model on a benchmark; its members are the claims by category. A claim over all categories is a member
    only if no category can be decided, since opposite effects cancel in it; else it is tested by itself if the family
    survives. Metrics whose validity card has not passed, or without a known null, are untestable, with a reason in
    words. ``robustness`` says how some claims, by (model, benchmark's name, key), fare under other framings.
    """
    claims, about_them = [], []
    for run in runs:
        for model, found in run.found.items():
            for evidence, claim in claims_of(found.values(), f"{model}/{run.name}", run.benchmark, protocol, cards):
                claims.append(claim)
                about_them.append((model, run, evidence))
    rows = []
    for (model, run, evidence), verdict in zip(about_them, judge(claims), strict=True):
        name, answers = run.name, run.answers[model]
        units = by_status(_units(answers, evidence.part, evidence.category), evidence.status)
        stop, counts = answers.stop, Counts.of(units)
        keys = dict(zip(KEYS, (model, name, *evidence.key), strict=False)) | verdict_keys(verdict, evidence)
        framed = (robustness or {}).get((model, name, evidence.key))
        if framed and (words := framed.words(verdict)):
            keys["why"] = f"{verdict.why}; {words}"
        item, away, leaning = median_item(evidence, verdict.value - verdict.neutral)
        reason, clusters = evidence.no_interval_reason(), evidence.inference().n_clusters
        said = verdict_rows(keys | {"item": item}, "value", verdict, reason, len(evidence.items), clusters, counts)
        if item:
            said.append(row(keys | {"item": item}, "median_item", Estimate(away, n=leaning, n_clusters=clusters)))
        if stop and stop.is_early:
            why = verdict.why if verdict.state == "untestable" else f"{verdict.why}; {stop.words}"
            said = [each | {"of": stop.of_category(evidence.category), "why": why} for each in said]
        rows += said
    rows += (each for run in runs for each in _without_value(run))
    return make_table(KEYS, rows).astype({"of": "Int64"})


def _units(answers: "Answers", part: str, category: str) -> pd.DataFrame:
    """The scores behind a claim: those of its ``part``, a task or condition, and ``category``; two groups in either
    order."""
    units = answers.scores
    column = "task" if part in registry.load_spec(answers.benchmark).tasks else "condition"
    if part and column in units:
        units = units[units[column] == part]
    mine = units["category"].isin([category, "-".join(reversed(category.split("-")))])
    return units[mine] if mine.any() else units


def by_status(units: pd.DataFrame, column: str) -> pd.DataFrame:
    """Scores with the values of ``column`` as their status."""
    return units if column == "status" else units.assign(status=units[column], detail="")


def _without_value(run: "BenchmarkEvidence") -> Iterator[dict[str, object]]:
    """Yield a row for each headline and model that was asked if none of its answers has a value."""
    spec = registry.load_spec(run.benchmark)
    for headline in spec.headlines:
        declared = (spec.metrics[headline.metric].unit, headline.null, headline.smallest)
        parts, category = about_row(headline, headline.rows)
        for (model, answers), part in product(run.answers.items(), parts or ("",)):
            key, units = (headline.metric, part, category), _units(answers, part, OVERALL)
            if category and key not in run.found[model] and len(units) and (units["status"] != "ok").all():
                empty = row({}, "value", Estimate(math.nan), Counts.of(units))
                said = (model, run.name, *key, *declared, "untestable", no_value(empty), "")
                yield dict(zip(KEYS, said, strict=True)) | empty


def contributions_table(runs: "Sequence[BenchmarkEvidence]") -> pd.DataFrame:
    """How far each item lies ``away`` from neutral, in the metric's unit, by model, benchmark and evidence.

    Over all categories, or by category if nothing is over all. Evidence with squares, or tested against the run's own
    placebos, has no rows: an item has no share of its own in it.
    """
    tables = [pd.DataFrame(columns=[*KEYS[:5], "item", "away"])]
    for run in runs:
        for model, found in run.found.items():
            whole = {key[:2] for key in found if key[2] == OVERALL}
            for key, evidence in found.items():
                declared = evidence.declared
                if declared is None or declared.neutral is None or declared.own_null or evidence.squared:
                    continue
                if key[2] == OVERALL or key[:2] not in whole:
                    away = pd.to_numeric(evidence.items["away"]).groupby(level=0, sort=False).mean().dropna()
                    told = dict(zip(KEYS[:5], (model, run.name, *key), strict=True))
                    tables.append(pd.DataFrame({**told, "item": away.index.astype(str), "away": away.to_numpy()}))
    return pd.concat([table for table in tables if len(table)] or tables, ignore_index=True)


def claims_of(
    found: Iterable[Evidence], family: str, benchmark: str, protocol: str, cards: Sequence[Card]
) -> list[tuple[Evidence, Claim]]:
    """The claims of one model (or two) on a benchmark, from all evidence that a headline declares."""
    each = [evidence for evidence in found if evidence.declared]
    claims = [evidence.claim(family, closed(cards, benchmark, protocol, evidence)) for evidence in each]
    parts = {
        evidence.key[:2]
        for evidence, claim in zip(each, claims, strict=True)
        if evidence.category != OVERALL and not untestable(claim)
    }
    return [
        (evidence, replace(claim, member=evidence.category != OVERALL or evidence.key[:2] not in parts))
        for evidence, claim in zip(each, claims, strict=True)
    ]
