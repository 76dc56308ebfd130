"""Asking in rounds: the report's own verdicts are computed after each round, and asking ends once they are decided."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from biasatlas.benchmarks.comparisons.cards import Card
from biasatlas.benchmarks.comparisons.findings import claims_of
from biasatlas.benchmarks.shared.evidence import ALIKE, OVERALL, Evidence
from biasatlas.benchmarks.shared.stops import Key, Stop
from biasatlas.errors import OutOfBudget
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.rounds import Analysis, level
from biasatlas.stats.verdict import Claim, Verdict, judge, words

#: An estimate with fewer clusters or degrees of freedom is not analysed: its error is not known well enough.
_CLUSTERS, _DF = 8, 3
#: Squares are skewed: this many of their degrees of freedom are worth one.
_OF_SQUARES = 10
#: Degrees of freedom that are as good as infinite, which JSON cannot say.
_MANY = 1e9


def ask_in_rounds(
    rounds: Sequence[tuple[float, Sequence[str]]],
    evidence: Callable[[Sequence[str]], Iterable[Evidence]],
    claims: Callable[[Iterable[Evidence]], Sequence[tuple[Evidence, Claim]]],
    tests: int = 1,
    categories: Mapping[str, int] | None = None,
) -> Stop:
    """Ask in ``rounds`` (:func:`.order.rounds_of`) until all claims that can be decided are, or everything is asked.

    ``evidence`` asks the items that it has not asked yet, and returns the evidence of all; ``claims`` makes claims of
    it. If any claim over all categories can get a verdict, asking goes on until all such have one; else until all of
    single categories have. ``tests`` counts the families (a model on a benchmark) that are judged together: a verdict
    at that share of the level stands whatever the others show. ``categories`` counts the items of each. If the budget
    does not pay for a whole round, asking ends with the one before; OutOfBudget is raised if there is none.
    """
    made: dict[Key, tuple[Analysis, ...]] = {}
    left, said = [*rounds], list[dict[str, Any]]()
    asked, analyses, nominal, why = left[0][1][:0], made, ALPHA, ""
    while left and not why:
        share, items = left.pop(0)
        try:
            found = list(evidence(items))
        except OutOfBudget:
            if not said:
                raise
            why = "the budget does not pay the next round"
            break
        asked = items
        analyses = {
            each.key: (*made.get(each.key, ()), analysis(each, share, made.get(each.key, ()))) for each in found
        }
        told = claims([replace(each, analyses=analyses[each.key]) for each in found])
        waited = _waited_for(told)
        verdicts = judge([claim for _, claim in told], ALPHA / tests)
        states = {each.key: verdict for (each, _), verdict in zip(told, verdicts, strict=True) if each.key in waited}
        levels = {key: level(analyses[key], ALPHA) for key in states}
        nominal = min(levels.values(), default=ALPHA)
        said.append({"share": share, "items": len(asked), "claims": _rows(states, levels)})
        ripe = {each.key for each in found if is_ripe(each)}
        if told and not waited:
            # No verdict can end it: there is one analysis, at the end.
            left, analyses, why = left[-1:], {}, "" if left else "everything was asked: nothing can get a verdict"
        elif waited <= ripe and all(verdict.state in ("biased", "unbiased") for verdict in states.values()):
            why = _decided(told, states)
        made |= {key: analyses[key] for key in ripe if key in analyses}
    why = why or "everything was asked"
    return Stop(asked, len(rounds[-1][1]), dict(categories or {}), why, nominal, analyses, said)


def _rows(states: Mapping[Key, Verdict], levels: Mapping[Key, float]) -> list[dict[str, Any]]:
    """What a round showed of each claim whose verdict is waited for."""
    shown = ("value", "low", "high", "state")
    return [
        {"claim": " ".join(filter(None, key)), "level": levels[key]} | {name: getattr(verdict, name) for name in shown}
        for key, verdict in states.items()
    ]


def _decided(told: Sequence[tuple[Evidence, Claim]], states: Mapping[Key, Verdict]) -> str:
    """The verdicts that end it, in words, each once."""
    said = [
        words(states[each.key].state, each.declared.smallest, each.unit)
        for each, _ in told
        if each.declared and each.key in states
    ]
    return ", ".join(dict.fromkeys(said))


def _waited_for(told: Sequence[tuple[Evidence, Claim]]) -> set[Key]:
    """The evidence whose verdicts are waited for: that over all categories, if any of it can get one; else by category.
    Clusters that do not differ yet may do so with more items."""
    open_ = [evidence.key for evidence, claim in told if claim.untestable in ("", ALIKE)]
    return {key for key in open_ if key[2] == OVERALL} or set(open_)


def is_ripe(evidence: Evidence) -> bool:
    """Whether there is enough to analyse the evidence, and to spend some of the error; else a later round does."""
    found = evidence.inference()
    levels = min(evidence.replicates.factors.values())
    enough = len(evidence.items) >= evidence.items_needed * len(evidence.replicates.without)
    return levels >= _CLUSTERS and enough and found.se > 0 and found.df >= _DF


def analysis(evidence: Evidence, share: float, before: Sequence[Analysis] = ()) -> Analysis:
    """The analysis at this ``share``; without a standard error, it has the information of the one before."""
    found = evidence.inference()
    information = 1 / found.se**2 if found.se > 0 else before[-1].information if before else 1.0
    df = min(found.df, _MANY) if found.df > 0 else 0.0
    return Analysis(share, information, df / _OF_SQUARES if evidence.squared else df)


def family_claims(
    family: str, benchmark: str, protocol: str, cards: Sequence[Card]
) -> Callable[[Iterable[Evidence]], Sequence[tuple[Evidence, Claim]]]:
    """The function that makes one model's claims on a benchmark from its evidence, as the report does."""
    return lambda found: claims_of(found, family, benchmark, protocol, cards)
