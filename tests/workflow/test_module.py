"""Another workflow imports this one with `module:`, under its own configuration and its own rule names."""

import json
import re

from conftest import ROOT, copy_workflow, snakemake
from small_run import KNOWN

from biasatlas.files import read_csv

OUTER = f"""
configfile: "outer.json"

module biasatlas:
    snakefile: "{ROOT}/Snakefile"
    config: config["biasatlas"]

use rule * from biasatlas as bias_*

rule models:
    input:
        "bias/tables/crows_pairs/recommended/scores.csv",
    output:
        "models.txt",
    shell:
        "cut -d, -f1 {{input}} | sort -u > {{output}}"
"""


def outer(folder, text) -> list[str]:
    """Write a workflow that imports ours; the arguments that make Snakemake run it."""
    # Rules that are made from others are the ones that importing may lose.
    config = KNOWN | {"results": "bias", "construction": {"writer": "simulated"}}
    config["benchmarks"] = KNOWN["benchmarks"] | {"dbb": {"data": "sample"}}
    (folder / "outer.json").write_text(json.dumps({"biasatlas": config, "other": 1}))
    (folder / "Snakefile").write_text(text)
    return ["--snakefile", str(folder / "Snakefile")]


def test_another_workflow_uses_our_rules_with_its_own_config(tmp_path):
    arguments = outer(tmp_path, OUTER)
    run = snakemake(*arguments, "models", folder=tmp_path)
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "models.txt").read_text().split() == ["model", "simulated"]
    assert len(read_csv(tmp_path / "bias/tables/crows_pairs/recommended/scores.csv"))
    targets = snakemake(*arguments, "--list-target-rules", folder=tmp_path).stdout
    assert re.search(r"^bias_crows_pairs \(.+\)$", targets, re.MULTILINE), targets


def test_another_workflow_may_take_some_of_our_rules(tmp_path):
    text = OUTER.partition("rule models")[0].replace("rule *", "rule read_items, build_requests")
    arguments = outer(tmp_path, text)
    target = "bias/requests/crows_pairs/recommended/pair.parquet"
    run = snakemake(*arguments, "--dry-run", target, folder=tmp_path)
    assert run.returncode == 0, run.stdout
    assert "bias_read_items" in run.stdout
    assert "answer" not in run.stdout


def test_two_versions_of_the_workflow_in_one_run_are_an_error(tmp_path):
    """Python would give the second the library of the first: its protocols, and the identity of its results."""
    other = copy_workflow(tmp_path / "other")
    second = OUTER.partition("rule models")[0].partition("module biasatlas")[2].replace(str(ROOT), str(other))
    text = (
        OUTER.partition("rule models")[0]
        + "module second"
        + second.replace("from biasatlas as bias", "from second as s")
    )
    run = snakemake(*outer(tmp_path, text), "--dry-run", "--list-target-rules", folder=tmp_path)
    assert run.returncode != 0
    assert f"error: {other}: the library of another Bias Atlas was loaded before: {ROOT}." in run.stdout
