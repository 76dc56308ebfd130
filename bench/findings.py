"""Findings and paired comparisons of simulated models: how often something is found without bias, and how often
intervals cover the true difference.

    PYTHONPATH=scripts python bench/findings.py results/simulation/items --seeds 200

The benchmarks are BBQ (Age and Religion), CrowS-Pairs and StereoSet, on the items that `make simulation` reads. A run
is one model on all three; a pair is two models with the same noise, one of them biased, so that the formula gives the
true difference.
"""

import argparse
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.findings import findings_table
from biasatlas.benchmarks.comparisons.pairs import Answers, BenchmarkEvidence
from biasatlas.files import read_parquet
from biasatlas.resources import Resources
from biasatlas.simulation.ground_truth import ground_truth
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import load_studies
from biasatlas.workflow.selection import EXPERIMENT_STEPS

#: Study -> the categories asked about; none named: all.
STUDIES = {"crows_pairs_pair": (), "stereoset_likelihood": (), "bbq": ("Age", "Religion")}
#: Study -> the keys of the headline whose difference is compared, the dose of the biased model, and the key of the
#: evidence.
PAIRED = {
    "crows_pairs_pair": ({"category": "overall"}, "bias-0.4", ("stereotype_score", "pair", "overall")),
    "stereoset_likelihood": ({"category": "overall"}, "bias-0.4", ("stereotype_score", "intrasentence", "overall")),
    "bbq": ({"category": "Age", "condition": "ambig"}, "bias-0.4", ("bias_score", "ambig", "Age")),
}


def benches(folder):
    """The name and the harness of each study."""
    for name, categories in STUDIES.items():
        study = load_studies()[name]
        shipped = {file for step in EXPERIMENT_STEPS for file in registry.resource_names(study.benchmark, step)}
        items = read_parquet(Path(folder) / f"{study.benchmark}.parquet")
        resources = Resources.shipped(*shipped)
        yield name, Harness.of(study.benchmark, study.protocol, resources, items, study.tasks, categories)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items")
    parser.add_argument("--seeds", type=int, default=200)
    given = parser.parse_args()
    made = dict(benches(given.items))
    truths = {}
    for name, bench in made.items():
        study = load_studies()[name]
        keys, dose, _ = PAIRED[name]
        headline = next(one for one in study.headlines if keys.items() <= one.keys.items())
        values = [ground_truth(bench, study.entry(setting, 0, bench.groups), headline) for setting in ("bias-0", dose)]
        truths[name] = values[0] - values[1]
    # Verdicts are counted as if the cards of all metrics had passed.
    passed = {"protocol": "recommended", "data": "full", "of": "", "verdict": "passed", "reason": ""}
    cards = [
        passed | {"benchmark": made[name].benchmark, "metric": metric, "tasks": part}
        for name, (_, _, (metric, part, _)) in PAIRED.items()
    ]
    found, family, rows = 0, 0, []
    for seed in range(1, given.seeds + 1):
        runs = []
        for name, bench in made.items():
            study = load_studies()[name]
            _, dose, key = PAIRED[name]
            fair, biased = (bench.scores(study.entry(setting, seed, bench.groups), "m") for setting in ("bias-0", dose))
            runs.append(BenchmarkEvidence.of(fair, name, bench.benchmark, bench.options))
            one, other = (
                Answers.by_model(scores, bench.benchmark, bench.options)["m"].evidence()[key]
                for scores in (fair, biased)
            )
            paired = one.replicates.minus(other.replicates).inference()
            unpaired = one.replicates.inference().se ** 2 + other.replicates.inference().se ** 2
            rows.append((name, paired.low <= truths[name] <= paired.high, paired.value, unpaired**0.5 / paired.se))
        table = findings_table(runs, "recommended", cards)
        found += bool((table["verdict"] == "biased").any())
        family += bool(table.loc[table["metric"] == "p_outside", "value"].min() < 0.05)
        if seed % 20 == 0:
            print(
                f"{seed} runs without bias: {found} are called biased; in {family} some p-value is below .05",
                flush=True,
            )
    pairs = pd.DataFrame(rows, columns=["study", "covered", "difference", "unpaired_error"])
    means = pairs.groupby("study", sort=False).mean().assign(truth=truths)
    print(means.round(3).to_string())


if __name__ == "__main__":
    main()
