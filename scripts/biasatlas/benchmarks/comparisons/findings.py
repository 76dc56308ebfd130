"""What is found in a run, once all of its tests are counted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.comparisons.pairs import BenchmarkEvidence
from biasatlas.benchmarks.shared.estimates import Estimate, make_table, row
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence
from biasatlas.stats.intervals import smallest_findable
from biasatlas.stats.multiplicity import hierarchical

KEYS = ("model", "benchmark", "measure", "part", "category", "neutral", "card")

#: A validity card, as a mapping of its columns.
Card = Mapping[str, Any]


def of_benchmark(cards: Sequence[Card], benchmark: str, protocol: str) -> list[Card]:
    """The cards of a benchmark under its protocol; on the published data, where there are any, since few items hide mistakes.

    Where its protocol has none, those of others: what a metric mistakes for bias it does under all. What it has passed under
    one it has not under another, whose questions and intervals differ: such a card is "undecided".
    """
    all_of_it = [card for card in cards if card["benchmark"] == benchmark]
    own = [card for card in all_of_it if card["protocol"] == protocol]
    mine = own or [_elsewhere(card) if card["verdict"] == "passed" else card for card in all_of_it]
    return [card for card in mine if card["data"] == "full"] or mine


def _elsewhere(card: Card) -> Card:
    return {**card, "verdict": "undecided", "reason": f"was tried under the protocol {card['protocol']} alone"}


def about(cards: Sequence[Card], metric: str, parts: Sequence[str], category: str) -> list[Card]:
    """Those of a benchmark's ``cards`` on a metric: of the category itself before all others.

    Cards of other ``parts`` (tasks or contexts; none named: all) do not count, nor those that miss an interval for want of
    clusters: such a row has none.
    """
    mine = [
        card
        for card in cards
        if CARD_METRICS.get(metric, metric) == card["metric"]
        and (not parts or not _names(card, "of", "tasks").isdisjoint(parts))
        and card["reason"] != "no interval"
    ]
    groups = set(category.split("-"))  # TWBias's categories are two groups
    own = [
        card for card in mine if groups <= _names(card, "of") or (category == OVERALL and "All" in _names(card, "of"))
    ]
    return own or mine


def _names(card: Card, *columns: str) -> set[str]:
    """What stands in ``columns`` of a card."""
    return {name for column in columns for name in str(card[column]).split(", ")}


def worst(cards: Sequence[Card]) -> str:
    """What ``cards`` say together: "descriptive" if any does, else "passed" if all do, else (or without any) "undecided"."""
    verdicts = {card["verdict"] for card in cards}
    if "descriptive" in verdicts:
        return "descriptive"
    return "passed" if verdicts == {"passed"} else "undecided"


def verdict(cards: Sequence[Card], benchmark: str, protocol: str, evidence: Evidence) -> str:
    """What the validity cards say of a metric (:func:`worst`)."""
    parts = [evidence.part] if evidence.part else []
    return worst(about(of_benchmark(cards, benchmark, protocol), evidence.metric, parts, evidence.category))


#: Metrics of evidence -> the metric of the tables that was measured for them.
CARD_METRICS = {"mean_product": "consistent_shift"}


def findings_table(runs: Sequence[BenchmarkEvidence], protocol: str, cards: Sequence[Card]) -> pd.DataFrame:
    """Every test of a run under a protocol.

    A family is a model on a benchmark; its members are the metrics with a neutral value, by category. What is over all
    categories is a member only where no category has a test, since opposed effects cancel in it; else it is looked at beside a
    family that survives. Metrics whose validity card is "descriptive" are shown with their p-value, and are no tests: ``found``
    and ``q_value`` are missing.
    """
    tests, rows = _tests(runs, protocol, cards), []
    counted, family = tests["card"] != "descriptive", tests["model"] + "/" + tests["benchmark"]
    decided = hierarchical(tests["p_value"].where(counted), family, tests["member"])
    for test, (_, outcome) in zip(tests.to_dict("records"), decided.iterrows(), strict=True):
        keys = {name: test[name] for name in KEYS}
        inference = test["inference"]
        findable = smallest_findable(inference.se, inference.df) if inference.se > 0 else np.nan
        n, clusters = test["n"], inference.n_clusters
        rows.append(row(keys, "value", Estimate.of(inference, n)))
        numbers = {"p_value": test["p_value"], "smallest_effect": findable}
        if np.isfinite(outcome["q_value"]):
            numbers |= {"family_p": outcome["family_p_adjusted"], "q_value": outcome["q_value"]}
            numbers |= {"found": float(outcome["found"])}
        rows += [row(keys, name, Estimate(value, n=n, n_clusters=clusters)) for name, value in numbers.items()]
    return make_table(KEYS, rows)


def _tests(runs: Sequence[BenchmarkEvidence], protocol: str, cards: Sequence[Card]) -> pd.DataFrame:
    """A row for each evidence with a neutral value."""
    rows = []
    for run in runs:
        for model, found in run.found.items():
            tested = [each for each in found.values() if each.neutral is not None]
            parts = {each.key[:2] for each in tested if each.category != OVERALL and np.isfinite(each.p())}
            for each in tested:
                card = verdict(cards, run.benchmark, protocol, each)
                whole = each.category == OVERALL and each.key[:2] in parts
                rows.append(
                    {
                        **dict(zip(KEYS, (model, run.name, *each.key, each.neutral, card), strict=True)),
                        "inference": each.inference(),
                        "p_value": each.p(),
                        "n": len(each.items),
                        "member": not whole,
                    }
                )
    return pd.DataFrame(rows, columns=[*KEYS, "inference", "p_value", "n", "member"]).astype(
        {"p_value": float, "member": bool}
    )
