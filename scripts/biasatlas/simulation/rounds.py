"""What headlines say of simulated models that are asked in rounds, and how often they are wrong."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from biasatlas.benchmarks.comparisons.rounds import analysis, is_ripe
from biasatlas.benchmarks.registry import load_spec
from biasatlas.benchmarks.shared.evidence import Evidence
from biasatlas.benchmarks.shared.order import asking_orders, rounds_of
from biasatlas.simulation import claims, direct, own_group
from biasatlas.simulation.experiment import COLUMNS
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.rounds import Analysis, level
from biasatlas.stats.verdict import judge, p_inside, p_outside

#: How many orders there are, and in how many of them each model is asked.
ORDERS, EACH = 10, 2
#: The smallest effect in a test for any bias at all, as a share of the smallest effect that matters.
_NONE = 1e-9
#: Columns of scores that name the items behind a row.
_ITEMS = ["item_id", "item_1", "item_2"]


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.claims.run`, for models that are asked in rounds, each in two of ten orders.

    A row is what the round with a verdict shows, or the last. Its p-value is below 5% if the interval of any round
    excludes the neutral value: such a model without bias would be called biased if any difference mattered. No ground
    truth is given, since early values lie too far out.
    """
    shown, design, seeds = in_rounds(study, setting, bench), load_spec(study.benchmark).design, list(seeds)
    rows = []
    orders = asking_orders(bench.items, design, range(1, ORDERS + 1))
    for order, ids in enumerate(orders, 1):  # a round's items make the same regression for all models
        rounds = rounds_of(bench.items, design, ids)
        mine = [seed for place, seed in enumerate(seeds) if (order - place) % ORDERS < EACH]
        for seed, of_rounds in shown(rounds, mine):
            interim: dict[tuple[str, str, str], list[tuple[float, Evidence]]] = {}
            for share, found in of_rounds:
                for each in found:
                    interim.setdefault(each.key, []).append((share, each))
            for each_round in interim.values():
                stop, p = _stopped(each_round)
                rows.append({**claims.row(stop, seed), "p_value": p})
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("seed", kind="stable", ignore_index=True)


def in_rounds(study: Study, setting: str, bench: Harness) -> own_group.InRounds:
    """A function from rounds and seeds to the evidence from each seed's model at the end of each round."""
    if study.benchmark == "twbias":
        return own_group.in_rounds(study, setting, bench)
    answers = (direct.shifts if study.benchmark == "dbb" else claims.sums)(study, setting, bench)

    def shown(
        rounds: own_group.Rounds, seeds: Sequence[int]
    ) -> Iterator[tuple[int, Iterable[tuple[float, list[Evidence]]]]]:
        for seed in seeds:
            yield seed, ((share, claims.declared(bench, rows)) for share, rows in _parts(answers(seed), rounds))

    return shown


def _parts(scored: pd.DataFrame, rounds: Sequence[tuple[float, Sequence[str]]]) -> Iterator[tuple[float, pd.DataFrame]]:
    """For each of ``rounds``, its share of the items, and the scores whose items were all asked by then."""
    place = pd.Series(range(len(rounds[-1][1])), rounds[-1][1])
    named = scored[scored.columns.intersection(_ITEMS)].apply(lambda items: items.str.replace(r"#\d$", "", regex=True))
    last = named.apply(lambda items: items.map(place)).max(axis=1).to_numpy()  # copies come with their item
    for share, asked in rounds:
        yield share, scored[last < len(asked)]


def analysed(interim: Sequence[tuple[float, Evidence]]) -> Iterator[Evidence]:
    """The evidence after each round, with the analyses so far; ``interim`` has each round's share of the items."""
    made: tuple[Analysis, ...] = ()
    for share, each in interim:
        if share == 1 or is_ripe(each):
            made = (*made, analysis(each, share, made))
            yield replace(each, analyses=made)


def _stopped(interim: Sequence[tuple[float, Evidence]]) -> tuple[Evidence, float]:
    """The evidence from the round with a verdict, or from the last; and the smallest p-value of any round, scaled from
    its level to the usual one."""
    seen, least, stop = [*analysed(interim)], 1.0, None
    for each in seen:
        claim, alpha = each.claim("model"), level(each.analyses, ALPHA)
        least = min(least, ALPHA / alpha * p_outside(replace(claim, smallest=_NONE * claim.smallest, margin=0.0)))
        if stop is None and min(p_outside(claim), p_inside(claim)) <= alpha:
            stop = each if judge([claim])[0].state in ("biased", "unbiased") else None
    return stop or seen[-1], least
