"""Measure asking in rounds: the share of items that a verdict takes, how often it is wrong, and what all items say.

    snakemake --configfile released.yaml --until score_bbq score_crows_pairs score_stereoset score_gest score_twbias
    PYTHONPATH=scripts python bench/rounds.py known released headlines studies --results results --orders 200 --draws 1000

`known`: answers by a formula whose bias varies over templates (SD 0.7 logits). `released`: published answers in random
orders, and with a random sign for each cluster ("turned"), which leaves no bias. `headlines`: a benchmark's own
headlines on published answers. `studies`: the same on simulated models with the biases of the simulation studies.
"Some bias" tests for any difference from the null; "verdict" is the report's, with the smallest effect that matters.
Validity cards are ignored, as if every metric had passed.
"""

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
from scipy.special import expit

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.rounds import ask_in_rounds
from biasatlas.benchmarks.families.pairs.scores import shift_regression
from biasatlas.benchmarks.families.questions.scores import balanced
from biasatlas.benchmarks.shared.evidence import OVERALL, Declared, Evidence, declare
from biasatlas.benchmarks.shared.order import MANY, SHARES, asking_order, asking_orders, rounds_of
from biasatlas.files import read_parquet, read_scores
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.measure import shipped_for
from biasatlas.simulation.own_group import Rounds
from biasatlas.simulation.rounds import analysed, in_rounds
from biasatlas.simulation.studies import load_studies
from biasatlas.stats import Array
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.regression import coefficients_replicates
from biasatlas.stats.replicates import ratio_replicates
from biasatlas.stats.rounds import levels
from biasatlas.stats.verdict import Claim, p_inside, p_outside

#: Rule -> the effect that it tests for, as a multiple of the smallest that matters.
RULES = {"some bias": 1e-6, "verdict": 1.0}

#: Evidence about a model, round by round: the share of items asked, and the evidence from them.
OfRounds = list[tuple[float, Evidence]]

#: The fewest items of a first round where each item is a cluster.
_RIPE = 8

#: Templates, items in each, share of answers "unknown", bias in points.
KNOWN = [
    *((343, 85, 1 / 3, truth) for truth in (11.1, 4.5, 0.0)),
    *((343, 85, 0.97, truth) for truth in (0.0, 1.0)),
    *((42, 190, 1 / 3, truth) for truth in (11.1, 0.0)),
    *((25, 74, 1 / 3, truth) for truth in (11.1, 21.2, 0.0)),
]
LEAN = 0.7
#: Log odds of the right person in disambiguated contexts, whose score is the mean of two ratios.
RIGHT = 1.0

#: Benchmark -> the column of its parts, the parts, the cluster, the null and the smallest effect that matters.
RELEASED: dict[str, tuple[str, Sequence[str], str, float, float]] = {
    "bbq": ("condition", ["ambig"], "template", 0.0, 5.0),
    "crows_pairs": ("task", ["pair"], "writer", 50.0, 5.0),
    "stereoset": ("task", ["intrasentence"], "target", 50.0, 5.0),
}


@dataclass(frozen=True)
class Case:
    """One model's items in the order asked: ``top`` and ``bottom`` of each one's ratio, and its ``cluster`` from 0.

    ``half``: each item's half, 0 or 1, if the value is the mean of two halves' ratios. ``bounds``: of the value.
    """

    top: Array
    bottom: Array
    cluster: np.ndarray
    neutral: float = 0.0
    smallest: float = 5.0
    half: np.ndarray | None = None
    bounds: tuple[float, float] | None = (-100.0, 100.0)

    @cached_property
    def interim(self) -> list[tuple[float, Evidence]]:
        """The share of items and the evidence of each round."""
        count = int(self.cluster.max()) + 1
        least = _RIPE if count == len(self.top) else min(count, MANY)
        sizes = [(share, math.ceil(share * len(self.top))) for share in SHARES]
        return [(share, self.evidence(n, count)) for share, n in sizes if share == 1 or n >= least]

    def evidence(self, first: int, count: int) -> Evidence:
        """The evidence from the ``first`` items, which have ``count`` clusters in all."""
        half = np.zeros(len(self.top), int) if self.half is None else self.half
        codes = self.cluster[:first] + count * half[:first]
        there = np.flatnonzero(np.bincount(codes))
        top, bottom = (np.bincount(codes, values[:first])[there] for values in (self.top, self.bottom))
        if self.half is None:
            found = ratio_replicates(top, bottom, there)
        else:
            sums = [pd.Series(values) for values in (top, bottom, there // count, there % count)]
            found = balanced(*sums)
        declared = Declared(neutral=self.neutral, smallest=self.smallest, unit="points", reason="")
        items, needed = pd.DataFrame(index=range(first)), 1 if self.half is None else 2
        return Evidence(
            *("m", "", OVERALL, found.times(100), items),
            bounds=self.bounds,
            rate=self.neutral > 0,
            declared=declared,
            items_needed=needed,
        )

    def turned(self, rng: np.random.Generator) -> "Case":
        """This case with a random sign for each cluster."""
        middle = self.neutral / 100 * self.bottom
        sign = rng.choice([-1.0, 1.0], int(self.cluster.max()) + 1)[self.cluster]
        return replace(self, top=middle + sign * (self.top - middle))

    def in_order(self, order: Array) -> "Case":
        """This case with its items in another order."""
        return replace(self, top=self.top[order], bottom=self.bottom[order], cluster=self.cluster[order])


@dataclass(frozen=True)
class Said:
    """A rule's verdict in rounds (``state``, after ``share`` of the items), and its verdict on all items (``whole``).

    ``plain``: an uncorrected test says "biased" in some round. ``held``: all intervals of rounds asked hold the truth.
    """

    share: float
    state: str
    whole: str
    plain: bool
    held: bool


def if_mattered(interim: Sequence[tuple[float, Evidence]], times: float) -> list[tuple[float, Evidence]]:
    """The rounds, with the smallest effect that matters multiplied by ``times``."""
    given = interim[-1][1].declared
    declared = given if times == 1 else replace(given, smallest=times * given.smallest, margin=0.0)
    return [(share, replace(each, declared=declared)) for share, each in interim]


def said(interim: Sequence[tuple[float, Evidence]], truth: float | None = None) -> Said:
    """What the tests of the report's verdict say in a run that has no other claim."""
    ripe = [*analysed(interim)]
    made = ripe[-1].analyses
    claims = [each.claim("m") for each in ripe]
    once = [replace(each, analyses=()).claim("m") for each in ripe]
    states = [_state(claim, level) for claim, level in zip(claims, levels(made, ALPHA), strict=True)]
    stop = next((n for n, state in enumerate(states) if state), len(states) - 1)
    held = True
    if truth is not None:
        exact = [replace(claim, neutral=truth, smallest=1e-9) for claim in claims[: stop + 1]]
        held = all(p_outside(claim) >= level for claim, level in zip(exact, levels(made, ALPHA), strict=False))
    plain = any(_state(claim, ALPHA) == "biased" for claim in once)
    return Said(made[stop].share, states[stop], _state(once[-1], ALPHA), plain, held)


def _state(claim: Claim, level: float) -> str:
    """The verdict of one claim at its level; '' where there is none."""
    clusters = min(claim.factors.values())
    if p_outside(claim) <= level and clusters >= claim.lower_from:
        return "biased"
    return "unbiased" if p_inside(claim) <= level and clusters >= claim.upper_from else ""


def check(interim: Sequence[tuple[float, Evidence]], mine: Said) -> None:
    """Raises AssertionError where the workflow's own function gives another verdict."""
    left = iter(interim)
    stop = ask_in_rounds(
        [(share, [share]) for share, _ in interim],
        lambda asked: [next(left)[1]],
        lambda found: [(each, each.claim("m")) for each in found],
    )
    state = stop.rounds[-1]["claims"][0]["state"]
    assert stop.asked == [mine.share], (stop, mine)
    assert (state if state in ("biased", "unbiased") else "") == mine.state, (state, mine)


def summary(cases: Iterable[Case], truth: float | None = None) -> dict:
    """Rates of verdicts over the cases, when each is asked in rounds, and when it is asked everything at once."""
    rules: dict[str, list[Said]] = {rule: [] for rule in RULES}
    for number, case in enumerate(cases):
        for rule, told in rules.items():
            interim = if_mattered(case.interim, RULES[rule])
            told.append(said(interim, truth))
            if number < 3:
                check(interim, told[-1])
    row = {f"{rule}: {what}": value for rule, told in rules.items() for what, value in _rate(told).items()}
    if truth is not None:
        row |= {f"{rule}: covered in all rounds": np.mean([each.held for each in told]) for rule, told in rules.items()}
    return row | {"some bias by plain intervals": np.mean([each.plain for each in rules["some bias"]])}


def known(draws: int) -> Iterator[dict]:
    """A row for each setting of answers by a formula, over ``draws`` models."""
    for number, (templates, per, unknown, truth) in enumerate(KNOWN):
        cluster, _ = _in_order(templates, per)
        grid = LEAN * scipy.special.ndtri((np.arange(2000) + 0.5) / 2000)
        wanted = truth / (200 * (1 - unknown)) + 0.5
        b = scipy.optimize.brentq(lambda b, wanted=wanted, grid=grid: expit(b + grid).mean() - wanted, -20, 20)

        def case(rng, b=b, cluster=cluster, templates=templates, unknown=unknown) -> Case:
            lean = rng.normal(0, LEAN, templates)[cluster]
            sign = np.where(rng.random(len(cluster)) < expit(b + lean), 1.0, -1.0)
            return Case(np.where(rng.random(len(cluster)) < unknown, 0.0, sign), np.ones(len(cluster)), cluster)

        rng = np.random.default_rng(number)
        row = summary((case(rng) for _ in range(draws)), truth)
        yield {"case": f"{templates} templates, {unknown:.0%} unknown", "value": truth} | row
    for templates, per in ((343, 85), (25, 74)):
        cluster, half = _in_order(templates, per)

        def score(rng, cluster=cluster, half=half, templates=templates) -> Case:
            lean = rng.normal(0, LEAN, templates)[cluster] + RIGHT * (2 * half - 1)
            return Case(np.sign(expit(lean) - rng.random(len(cluster))), np.ones(len(cluster)), cluster, half=half)

        rng = np.random.default_rng(templates)
        row = summary((score(rng) for _ in range(draws)), 0.0)
        yield {"case": f"{templates} templates, mean of two halves", "value": 0.0} | row


def _in_order(templates: int, per: int) -> tuple[np.ndarray, np.ndarray]:
    """The template and the half of each item, in the order asked."""
    names = [(f"{t}-{k}", t, k % 2) for t in range(templates) for k in range(per)]
    items = pd.DataFrame(names, columns=["item_id", "template", "half"])
    order = asking_order(items, registry.load_spec("bbq").design)
    items = items.set_index("item_id").loc[order]
    return items["template"].to_numpy(), items["half"].to_numpy()


def scores_of(results: Path, benchmarks: Sequence[str]) -> Iterator[tuple[str, str, pd.DataFrame, pd.DataFrame]]:
    """Answers that authors published: for each set its model, benchmark, scores, and the benchmark's items."""
    items = {name: read_parquet(results / "items" / f"{name}.parquet") for name in benchmarks}
    for folder in sorted(results.glob("scores/*/*/released")):
        model, benchmark = folder.parts[-3:-1]
        if benchmark in benchmarks:
            yield model, benchmark, read_scores(sorted(folder.rglob("*.csv"))), items[benchmark]


def released(results: Path, orders: int, draws: int) -> Iterator[dict]:
    """Rows for each set of published answers: in ``orders`` random orders, and with ``draws`` draws of signs."""
    bounds = {"twbias": None, "bbq": (-100.0, 100.0)}  # nats have none
    ids, places = None, []
    for model, benchmark, scores, items in scores_of(results, [*RELEASED, "twbias"]):
        for name, rows, cluster, neutral, smallest in _parts(benchmark, scores, items):
            mine = items[items["item_id"].isin(rows["item_id"])].set_index("item_id", drop=False)
            if ids is None or not mine.index.equals(ids):
                ids, place = mine.index, {item: number for number, item in enumerate(mine.index)}
                asked = asking_orders(mine, registry.load_spec(benchmark).design, range(1, orders + 1))
                places = [np.array([place[item] for item in order], np.int32) for order in asked]
            top, bottom = rows.set_index("item_id").loc[ids, ["top", "bottom"]].to_numpy(float).T
            codes = pd.factorize(mine[cluster].astype(str))[0]
            whole = Case(top, bottom, codes, neutral, smallest, bounds=bounds.get(benchmark, (0.0, 100.0)))
            value = whole.evidence(len(rows), int(whole.cluster.max()) + 1).value
            yield {"case": f"{benchmark} {model}{name}", "value": value} | summary(map(whole.in_order, places))
            if benchmark != "twbias":
                rng = np.random.default_rng(0)
                turned = (whole.in_order(places[n % orders]).turned(rng) for n in range(draws))
                yield {"turned": f"{benchmark} {model}"} | summary(turned)


def _parts(benchmark: str, scores: pd.DataFrame, items: pd.DataFrame) -> Iterator[tuple]:
    """Each part of published scores: its name, a row for each item, the cluster, the null, and the smallest effect."""
    if benchmark == "twbias":
        # How much likelier a sentence is than with another group's terms: over its prompts, in hundredths of a nat.
        away = 100 * (scores["log_ppl_replaced_mean"] - np.log(scores["ppl_original"]))
        for keys, rows in scores.assign(top=away)[away.notna()].groupby(["target_group", "reference_group"]):
            means = rows.groupby("item_id")["top"].mean() / 100
            table = pd.DataFrame({"item_id": means.index, "top": means.to_numpy(), "bottom": 1.0})
            yield f" {'-'.join(keys)}", table, "item_id", 0.0, 10.0
        return
    column, parts, cluster, neutral, smallest = RELEASED[benchmark]
    scores = scores[scores[column].isin(parts)]
    if benchmark == "bbq":
        rows = scores[scores["answered"].gt(0)].assign(top=lambda rows: rows["biased"] - rows["counter"])
        rows = rows.rename(columns={"answered": "bottom"})
    else:
        rows = scores[scores["stereotyped"].notna()].assign(top=lambda rows: rows["stereotyped"], bottom=1.0)
    yield "", rows[["item_id", "top", "bottom"]], cluster, neutral, smallest


def headlines(results: Path, orders: int) -> Iterator[dict]:
    """GEST's headline on published answers in ``orders`` orders: over stereotypes, and the same over sentences."""
    design, by_text = registry.load_spec("gest").design, dict[tuple[str, ...], list[pd.DataFrame]]()
    for _, _, scores, items in scores_of(results, ["gest"]):
        scores = scores[scores["shift"].notna()]  # none for texts that are not published
        by_text.setdefault(tuple(items.loc[items["item_id"].isin(scores["item_id"]), "item_id"]), []).append(scores)
    told: list[tuple[str, Said]] = []
    for asked, models in by_text.items():
        mine = items[items["item_id"].isin(asked)]
        rounds = (rounds_of(mine, design, order) for order in asking_orders(mine, design, range(1, orders + 1)))
        told += _told(model for each in rounds for model in _over_both(models, each))
    yield {"case": f"gest, {sum(map(len, by_text.values()))} sets of answers"} | _rates(told)


def _over_both(models: Sequence[pd.DataFrame], rounds: Rounds) -> list[OfRounds]:
    """Each model's rounds, over stereotypes and over sentences; ``models`` of the same texts share the regressors."""
    by_item = [scores.set_index("item_id") for scores in models]
    shifts = pd.concat([scores["shift"] for scores in by_item], axis=1)
    declared = declare(registry.load_spec("gest"), "side_shift", "pair")
    found: list[OfRounds] = [[] for _ in models]
    for share, asked in rounds:
        known = by_item[0].loc[list(asked)]
        columns, weights, factors = shift_regression(known, registry.description("gest"))
        plain = np.column_stack([columns[:, 0], np.ones(len(known))])
        for name, on, clusters in (
            ("side_shift", columns, factors["categories"]),
            ("over sentences", plain, known["cluster"]),
        ):
            each = coefficients_replicates(shifts.loc[known.index], on, weights, clusters)
            for replicates, of_model in zip(each, found, strict=True):
                items = pd.DataFrame(index=known.index)
                of_model.append((share, Evidence(name, "pair", OVERALL, replicates, items, declared=declared)))
    return found


def studies(names: Sequence[str], data: Path, draws: int) -> Iterator[dict]:
    """Headlines on ``draws`` simulated models for each dose of a study, which is of texts, DBB's choices or TWBias."""
    for name in names:
        study = load_studies()[name].model_copy(update={"most": draws})
        items = read_parquet(data / "items" / f"{study.benchmark}.parquet")
        bench = Harness.of_study(study, shipped_for(study.benchmark), items)
        for dose in study.doses:
            setting = f"bias-{dose:g}"
            shown, seeds = in_rounds(study, setting, bench), study.seeds(setting, draws)
            design = registry.load_spec(study.benchmark).design
            orders = asking_orders(bench.items, design, range(1, draws + 1))
            told = _told(
                [(share, each) for share, found in of_rounds for each in found]
                for order, seed in zip(orders, seeds, strict=True)
                for _, of_rounds in shown(rounds_of(bench.items, design, order), [seed])
            )
            yield {"case": f"{name} {setting}"} | _rates(told)


def _told(models: Iterable[OfRounds]) -> Iterator[tuple[str, Said]]:
    """Each headline's name and rule, and what the rule says of each of ``models``, overall and by category."""
    for number, shown in enumerate(models):
        interim: dict[str, OfRounds] = {}
        for share, each in shown:
            if each.declared and each.declared.neutral is not None:
                interim.setdefault(f"{each.metric} {each.category}", []).append((share, each))
        for (metric, rows), (rule, times) in product(interim.items(), RULES.items()):
            told = said(mattering := if_mattered(rows, times))
            if number < 3:
                check(mattering, told)
            yield f"{metric}, {rule}", told


def _rates(told: Iterable[tuple[str, Said]]) -> dict:
    found: dict[str, list[Said]] = {}
    for name, each in told:
        found.setdefault(name, []).append(each)
    return {f"{name}: {what}": value for name, all_ in found.items() for what, value in _rate(all_).items()}


def _rate(told: Sequence[Said]) -> dict:
    """The number of models, the mean share of items asked, and rates of verdicts."""
    row: dict[str, object] = {"draws": len(told), "share": np.mean([each.share for each in told])}
    for state in ("biased", "unbiased"):
        row[state] = np.mean([each.state == state for each in told])
        row[f"{state}, all asked"] = np.mean([each.whole == state for each in told])
    row["opposite"] = np.mean([{each.state, each.whole} == {"biased", "unbiased"} for each in told])
    return row


def show(row: dict) -> None:
    """Print a row, with one name and its number a line."""
    told = (f"{name:60}{value if isinstance(value, str) else format(value, '.4g')}" for name, value in row.items())
    print(*told, "", sep="\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", choices=("known", "released", "headlines", "studies"))
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="a run of released models")
    parser.add_argument("--orders", type=int, default=200, help="orders of each released model's items")
    parser.add_argument("--draws", type=int, default=1000, help="models by a formula, signs, or simulated models")
    every = ["crows_pairs_rounds", "stereoset_rounds", "gest_rounds", "dbb_rounds", "twbias_rounds"]
    parser.add_argument("--studies", nargs="*", default=every)
    given = parser.parse_args()
    tables = {
        "known": lambda: known(given.draws),
        "released": lambda: released(given.results, given.orders, given.draws),
        "headlines": lambda: headlines(given.results, given.orders),
        "studies": lambda: studies(given.studies, given.results, given.draws),
    }
    for name in given.tables:
        for row in tables[name]():
            show(row)


if __name__ == "__main__":
    main()
