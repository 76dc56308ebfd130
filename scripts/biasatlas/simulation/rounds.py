"""What headlines say of simulated models that are asked in rounds, and how often they are wrong."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from biasatlas.benchmarks.comparisons.rounds import analysis, is_ripe
from biasatlas.benchmarks.registry import load_spec
from biasatlas.benchmarks.shared.evidence import Evidence
from biasatlas.benchmarks.shared.order import asking_order, rounds_of
from biasatlas.simulation import claims, direct
from biasatlas.simulation.experiment import COLUMNS
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.rounds import Analysis, level
from biasatlas.stats.verdict import judge, p_inside, p_outside

#: Orders there are, and in how many of them each model is asked.
ORDERS, EACH = 10, 2
#: The effect that there is "some bias" beyond, as a share of the smallest that matters.
_NONE = 1e-9
#: Columns of scores that name the items behind a row.
_ITEMS = ["item_id", "item_1", "item_2"]


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.claims.run`, of models that are asked in rounds, each in two of ten orders.

    A row is what the round with a verdict shows, or the last. Its p-value is below 5 % where the interval of any round
    leaves the neutral value out: of models without bias these would be called biased if any difference mattered. No
    ground truth is given, since early values lie too far out.
    """
    answers, design, seeds = scores(study, setting, bench), load_spec(study.benchmark).design, list(seeds)
    rows = []
    for order in range(1, ORDERS + 1):  # what a round's items make of a regression is the same for all models
        rounds = rounds_of(bench.items, design, asking_order(bench.items, design, order))
        for seed in (seed for place, seed in enumerate(seeds) if (order - place) % ORDERS < EACH):
            mine = answers(seed)
            interim: dict[tuple[str, str, str], list[tuple[float, Evidence]]] = {}
            for share, asked in rounds:
                for each in claims.declared(bench, part(mine, asked)):
                    interim.setdefault(each.key, []).append((share, each))
            for found in interim.values():
                shown, p = _stopped(found)
                rows.append({**claims.row(shown, seed), "p_value": p})
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("seed", kind="stable", ignore_index=True)


def scores(study: Study, setting: str, bench: Harness) -> Callable[[int], pd.DataFrame]:
    """What gives the scores of all items by the model of a seed."""
    return (direct.shifts if study.benchmark == "dbb" else claims.sums)(study, setting, bench)


def part(scored: pd.DataFrame, asked: Sequence[str]) -> pd.DataFrame:
    """The rows of scores of which every item was ``asked``."""
    return scored[scored[scored.columns.intersection(_ITEMS)].isin(set(asked)).all(axis=1)]


def analysed(interim: Sequence[tuple[float, Evidence]]) -> Iterator[Evidence]:
    """What each round shows, with the analyses so far; ``interim`` has the share of the items at each."""
    made: tuple[Analysis, ...] = ()
    for share, each in interim:
        if share == 1 or is_ripe(each):
            made = (*made, analysis(each, share, made))
            yield replace(each, analyses=made)


def _stopped(interim: Sequence[tuple[float, Evidence]]) -> tuple[Evidence, float]:
    """What is shown by the round with a verdict, or by the last; and the least p-value of any round, as if its level
    were the usual one."""
    seen, least, stop = [*analysed(interim)], 1.0, None
    for each in seen:
        claim, alpha = each.claim("model"), level(each.analyses, ALPHA)
        least = min(least, ALPHA / alpha * p_outside(replace(claim, smallest=_NONE * claim.smallest, margin=0.0)))
        if stop is None and min(p_outside(claim), p_inside(claim)) <= alpha:
            stop = each if judge([claim])[0].state in ("biased", "unbiased") else None
    return stop or seen[-1], least
