"""Another workflow imports this one with `module:`, under its own configuration and its own rule names."""

import json
import sys

from conftest import ROOT, snakemake
from small_run import write_config

from biasatlas.files import read_csv

OUTER = f"""
configfile: "outer.json"

module biasatlas:
    snakefile: "{ROOT}/Snakefile"
    config: config["biasatlas"]

use rule * from biasatlas as bias_*

rule models:
    input:
        rules.bias_twbias_table_gender.input,
    output:
        "models.txt",
    shell:
        "cut -d, -f1 {{input}} | sort -u > {{output}}"
"""


def test_another_workflow_uses_our_rules_with_its_own_config(tmp_path):
    config = json.loads(write_config(tmp_path / "models", 1).read_text())
    (tmp_path / "outer.json").write_text(json.dumps({"biasatlas": config | {"results": "bias"}, "other": 1}))
    (tmp_path / "Snakefile").write_text(OUTER)
    listed = snakemake("--list-target-rules", folder=tmp_path, snakefile=tmp_path / "Snakefile")
    assert "bias_twbias_table_gender (" in listed.stdout, listed.stdout
    run = snakemake("models", folder=tmp_path, snakefile=tmp_path / "Snakefile")
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "models.txt").read_text().split() == ["model", "tiny-0"]
    assert len(read_csv(tmp_path / "bias/tables/twbias/recommended/gender.csv"))


def test_another_workflow_may_take_one_rule(tmp_path):
    config = json.loads(write_config(tmp_path / "models", 1).read_text())
    (tmp_path / "outer.json").write_text(json.dumps({"biasatlas": config}))
    (tmp_path / "Snakefile").write_text(OUTER.split("rule models")[0].replace("rule *", "rule read_items, build_requests"))
    run = snakemake("--dry-run", "bias_read_items", folder=tmp_path, snakefile=tmp_path / "Snakefile")
    assert "Target rules may not contain wildcards" in run.stdout, run.stdout
