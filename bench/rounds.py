"""Asking in rounds, measured: the share of items that a verdict takes, how often it is wrong, and what asking everything says.

    snakemake --configfile released.yaml --until score_bbq score_crows_pairs score_stereoset
    PYTHONPATH=scripts python bench/rounds.py results --orders 200 --draws 1000

Three tables. `known`: answers by a formula in templates that lean by 0.7 logits (SD). `released`: answers that authors published, in
random orders; `results` is a run of models of kind `released` on BBQ, CrowS-Pairs and StereoSet. `turned`: the same with a
random sign for each cluster, which leaves no bias. "Some bias" asks whether neutral is left out, "verdict" what the report
says with the smallest effect that matters, 5 points. Validity cards are left aside: it is what would be said of a metric
that has passed.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
from scipy.special import expit

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.rounds import ask_in_rounds
from biasatlas.benchmarks.shared.evidence import OVERALL, Declared, Evidence, items_of
from biasatlas.benchmarks.shared.order import SHARES, asking_order, clusters
from biasatlas.files import read_parquet, read_scores
from biasatlas.stats.replicates import ratio_replicates
from biasatlas.stats.verdict import judge

#: The smallest effect that matters, in points, of the two rules.
RULES = {"some bias": 1e-6, "verdict": 5.0}

#: Templates, items in each, share that says "unknown", bias in points that comes of it.
KNOWN = [
    *((343, 85, 1 / 3, truth) for truth in (11.1, 4.5, 0.0)),
    *((343, 85, 0.97, truth) for truth in (0.0, 1.0)),
    *((42, 190, 1 / 3, truth) for truth in (11.1, 0.0)),
    *((25, 74, 1 / 3, truth) for truth in (11.1, 21.2, 0.0)),
]
LEAN = 0.7

#: Benchmark -> the context or task, the cluster, and the value without bias in points.
RELEASED = {
    "bbq": ("ambig", "template", 0.0),
    "crows_pairs": ("pair", "writer", 50.0),
    "stereoset": ("intrasentence", "target", 50.0),
}


@dataclass(frozen=True)
class Case:
    """One model: ``rows`` with an item, a cluster, ``top`` and ``bottom`` of a ratio each, in the order they are asked in."""

    rows: pd.DataFrame
    neutral: float
    clusters: int

    def evidence(self, first: int, rule: str) -> Evidence:
        """What the first items show."""
        rows = self.rows.iloc[:first]
        found = ratio_replicates(rows["top"], rows["bottom"], rows["cluster"]).times(100)
        declared = Declared(neutral=self.neutral, smallest=RULES[rule], unit="points", reason="")
        items = items_of(rows["item_id"], rows["cluster"])
        bounds = (0.0, 100.0) if self.neutral else (-100.0, 100.0)
        return Evidence("m", "", OVERALL, found, items, bounds=bounds, rate=self.neutral > 0, declared=declared)

    def rounds(self) -> list[tuple[float, list[str]]]:
        """The items of each round."""
        order = self.rows["item_id"].tolist()
        rounds = [(share, order[: math.ceil(share * len(order))]) for share in SHARES]
        return [(share, asked) for share, asked in rounds if len(asked) >= self.clusters]

    def said(self, first: int, rule: str) -> str:
        """What a single analysis of the first items says."""
        return judge([self.evidence(first, rule).claim("m")])[0].state

    def stop(self, rule: str) -> tuple[float, str, list]:
        """The share asked, the verdict, and the claim at the end of every round."""
        stop = ask_in_rounds(
            self.rounds(),
            lambda items: [self.evidence(len(items), rule)],
            lambda found: [(each, each.claim("m")) for each in found],
        )
        claims = [each["claims"][0] for each in stop.rounds]
        return len(stop.asked) / stop.of, claims[-1]["state"], claims

    def in_order(self, order: Sequence[str]) -> "Case":
        """The same in another order."""
        place = pd.Series(range(len(order)), order)
        return replace(self, rows=self.rows.iloc[np.argsort(self.rows["item_id"].map(place).to_numpy())])

    def turned(self, rng: np.random.Generator) -> "Case":
        """The same with a random sign for each cluster."""
        codes, names = pd.factorize(self.rows["cluster"])
        middle = self.neutral / 100 * self.rows["bottom"]
        top = middle + rng.choice([-1.0, 1.0], len(names))[codes] * (self.rows["top"] - middle)
        return replace(self, rows=self.rows.assign(top=top))


def known(draws: int) -> Iterator[dict]:
    """Answers by a formula: so many ``draws`` of what has no bias, else a fifth of them."""
    for number, (templates, per, unknown, truth) in enumerate(KNOWN):
        rng = np.random.default_rng(number)
        names = [(f"{t}-{k}", t) for t in range(templates) for k in range(per)]
        items = pd.DataFrame(names, columns=["item_id", "cluster"])
        order = asking_order(items.rename(columns={"cluster": "template"}), registry.load_spec("bbq").design)
        items = items.set_index("item_id", drop=False).loc[order].reset_index(drop=True)
        grid = LEAN * scipy.special.ndtri((np.arange(2000) + 0.5) / 2000)
        wanted = truth / (200 * (1 - unknown)) + 0.5
        b = scipy.optimize.brentq(lambda b, wanted=wanted, grid=grid: expit(b + grid).mean() - wanted, -20, 20)

        def case(rng: np.random.Generator = rng, items: pd.DataFrame = items, b: float = b) -> Case:
            lean = rng.normal(0, LEAN, templates)[items["cluster"]]  # noqa: B023
            sign = np.where(rng.random(len(items)) < expit(b + lean), 1.0, -1.0)
            top = np.where(rng.random(len(items)) < unknown, 0.0, sign)  # noqa: B023
            return Case(items.assign(top=top, bottom=1.0), 0.0, templates)  # noqa: B023

        cases = (case() for _ in range(draws if truth == 0 else draws // 5))
        yield {"case": f"{templates}, {unknown:.0%} unknown", "value": truth} | summary(cases, truth)


def released(results: Path) -> Iterator[tuple[str, Case, pd.DataFrame]]:
    """Answers that authors published: whose to what, and the items."""
    for folder in sorted(results.glob("scores/*/*/released")):
        model, benchmark = folder.parts[-3:-1]
        if benchmark not in RELEASED:
            continue
        part, cluster, neutral = RELEASED[benchmark]
        scores = read_scores(sorted(folder.rglob("*.csv")))
        if benchmark == "bbq":
            scores = scores[(scores["condition"] == part) & scores["answered"].gt(0)]
            rows = scores.assign(top=scores["biased"] - scores["counter"], bottom=scores["answered"])
        else:
            scores = scores[(scores["task"] == part) & scores["stereotyped"].notna()]
            rows = scores.assign(top=scores["stereotyped"], bottom=1.0)
        items = read_parquet(results / "items" / f"{benchmark}.parquet")
        items = items[items["item_id"].isin(rows["item_id"])]
        levels = items[clusters(items, registry.load_spec(benchmark).design)].drop_duplicates()
        rows = rows.rename(columns={cluster: "cluster"})[["item_id", "cluster", "top", "bottom"]]
        rows = rows.assign(cluster=pd.factorize(rows["cluster"])[0])
        yield f"{benchmark} {model}", Case(rows, neutral, len(levels)), items


def summary(cases: Iterator[Case], truth: float | None = None) -> dict:
    """What came of asking each case in rounds, and of asking it everything at once."""
    found = [(rule, *case.stop(rule), case.said(len(case.rows), rule)) for case in cases for rule in RULES]
    row: dict[str, object] = {"draws": len(found) // len(RULES)}
    for rule in RULES:
        mine = [each[1:] for each in found if each[0] == rule]
        row[f"{rule}: share"] = np.mean([share for share, *_ in mine])
        for state in ("biased", "unbiased"):
            row[f"{rule}: {state}"] = np.mean([said == state for _, said, _, _ in mine])
            row[f"{rule}: {state}, all asked"] = np.mean([whole == state for *_, whole in mine])
        row[f"{rule}: opposite"] = np.mean([{said, whole} == {"biased", "unbiased"} for _, said, _, whole in mine])
        if truth is not None:
            held = [all(each["low"] <= truth <= each["high"] for each in claims) for _, _, claims, _ in mine]
            row[f"{rule}: covered in all rounds"] = np.mean(held)
    return row


def without_bias(cases: Iterator[Case]) -> dict:
    """How often something is found that is not there."""
    rows = []
    for case in cases:
        plain = [case.said(len(asked), "some bias") == "biased" for _, asked in case.rounds()]
        rows.append((case.stop("some bias")[1] == "biased", plain[-1], any(plain)))
    return {"draws": len(rows)} | dict(
        zip(("rounds", "all asked once", "plain intervals"), np.mean(rows, axis=0), strict=True)
    )


def show(row: dict) -> None:
    """A row as lines of a name and a number each."""
    told = (f"{name:34}{value if isinstance(value, str) else format(value, '.3f')}" for name, value in row.items())
    print(*told, "", sep="\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "results", type=Path, nargs="?", help="a run of released models; without one, answers by a formula alone"
    )
    parser.add_argument("--orders", type=int, default=200, help="orders of each released model's items")
    parser.add_argument("--draws", type=int, default=1000, help="models without bias")
    given = parser.parse_args()
    for row in known(given.draws):
        show(row)
    for name, case, items in released(given.results) if given.results else ():
        design = registry.load_spec(name.split()[0]).design
        ordered = [case.in_order(asking_order(items, design, seed)) for seed in range(1, given.orders + 1)]
        value = case.evidence(len(case.rows), "verdict").value
        show({"case": name, "value": value} | summary(iter(ordered)))
        rng = np.random.default_rng(0)
        turned = (ordered[n % len(ordered)].turned(rng) for n in range(given.draws))
        show({"turned": name} | without_bias(turned))


if __name__ == "__main__":
    main()
