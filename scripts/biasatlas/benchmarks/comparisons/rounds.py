"""Asking in rounds: after each the report's own verdict is sought, and once it is there nothing more is asked."""

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

#: An estimate is not looked at from fewer clusters, or degrees of freedom: its error is not known well enough.
_CLUSTERS, _DF = 8, 3
#: Squares are skewed: so many of their degrees of freedom are worth one.
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
    """Ask in ``rounds`` (:func:`.order.rounds_of`) until all that can be decided of the items is, or everything is
    asked.

    ``evidence`` asks items that it has not asked yet, and says what all of them show; ``claims`` what that claims.
    Where a claim over all categories can get a verdict, all such are waited for, and else all of single categories.
    ``tests`` counts the families (a model on a benchmark) that are judged together: a verdict at that share of the
    level stands whatever the others show. ``categories`` counts the items of each. Where the budget does not pay a
    round whole, asking ends with the one before; OutOfBudget is raised where there is none.
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
    """What a round showed of each claim that is waited for."""
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
    """What a verdict is waited for: what is over all categories, unless nothing can be said of that; else by category.
    What has shown no difference yet may do so with more items."""
    open_ = [evidence.key for evidence, claim in told if claim.untestable in ("", ALIKE)]
    return {key for key in open_ if key[2] == OVERALL} or set(open_)


def is_ripe(evidence: Evidence) -> bool:
    """Whether enough is there to analyse it, and to spend of the error: else it is analysed in a later round."""
    found = evidence.inference()
    levels = min(evidence.replicates.factors.values())
    enough = len(evidence.items) >= evidence.items_needed * len(evidence.replicates.without)
    return levels >= _CLUSTERS and enough and found.se > 0 and found.df >= _DF


def analysis(evidence: Evidence, share: float, before: Sequence[Analysis] = ()) -> Analysis:
    """What is known at this share; where it has no error of its own, no more than before."""
    found = evidence.inference()
    information = 1 / found.se**2 if found.se > 0 else before[-1].information if before else 1.0
    df = min(found.df, _MANY) if found.df > 0 else 0.0
    return Analysis(share, information, df / _OF_SQUARES if evidence.squared else df)


def family_claims(
    family: str, benchmark: str, protocol: str, cards: Sequence[Card]
) -> Callable[[Iterable[Evidence]], Sequence[tuple[Evidence, Claim]]]:
    """What one model claims on a benchmark, as the report has it."""
    return lambda found: claims_of(found, family, benchmark, protocol, cards)
