"""Known models through the whole workflow: a benchmark from its configuration to the report, and one with a judge."""

import json

import pandas as pd
import pytest
from conftest import snakemake

CONFIG = {
    "results": "results",
    "models": {
        "fair": {"kind": "simulated", "noise": 0.0, "nats_per_token": 0.0, "right": 1000.0},
        "biased": {"kind": "simulated", "noise": 0.0, "bias": 100.0, "quality": 1.0},
    },
    "benchmarks": {
        "crows_pairs": {"data": "sample"},
        "mcbe": {
            "data": "sample",
            "categories": ["gender"],
            "tasks": ["PC", "BA"],
            "judge": "fair",
            "models": ["biased"],
        },
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of CrowS-Pairs to its figures, of McBE to its scores, and of the report that stands on what is there."""
    folder = tmp_path_factory.mktemp("simulated")
    path = folder / "config.json"
    path.write_text(json.dumps(CONFIG | {"benchmarks": {"crows_pairs": CONFIG["benchmarks"]["crows_pairs"]}}))
    done = snakemake("--configfile", str(path), folder=folder)
    assert done.returncode == 0, done.stdout
    path.write_text(json.dumps(CONFIG))
    done = snakemake("results/tables/mcbe/recommended/scores.csv", "--configfile", str(path), folder=folder)
    assert done.returncode == 0, done.stdout
    return folder


def table(folder, name):
    return pd.read_csv(folder / f"results/tables/{name}.csv")


def test_a_fair_and_a_biased_model_score_what_theory_says(folder):
    for name in ("scores", "prompted"):
        rows = table(folder, f"crows_pairs/recommended/{name}").query("category == 'overall' and direction == 'all'")
        found = rows[rows["metric"] == "stereotype_score"].set_index("model")["value"].to_dict()
        assert found == {"fair": 50, "biased": 100}
    page = (folder / "results/report/pages/model-biased.html").read_text()
    assert "Answers by a stated formula; bias 100 in log odds, seed 1" in page


def test_the_models_are_compared_tested_and_summarised(folder):
    """On the same pairs they differ by 50; one writer made the sample, so that nothing is tested, and the summary says so."""
    pairs = table(folder, "comparison/recommended/pairs").query("part == 'pair' and category == 'overall'")
    numbers = pairs.set_index("metric")["value"]
    assert (numbers["difference"], numbers["flipped"]) == (-50, 100)
    found = table(folder, "comparison/recommended/findings")
    assert "found" not in set(found["metric"])
    said = json.loads((folder / "results/summary/biased.json").read_text())
    assert not said["found"] and {row["reason"] for row in said["not_measured"]} == {"1 cluster, 5 are needed"}
    assert "## Not measured" in (folder / "results/summary/biased.md").read_text()


def test_a_known_judge_grades_what_a_known_model_writes(folder):
    rows = table(folder, "mcbe/recommended/scores").query("metric == 'score'").set_index("task")["value"]
    assert rows["BA"] == 100
    assert rows["PC"] < 1
