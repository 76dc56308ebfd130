"""A run in two stages: requests that are rebuilt with the same bytes ask no model."""

import json
import subprocess
import sys
import time

import pytest
import steps
from conftest import copy_workflow, snakemake
from small_run import KNOWN

TARGET = "results/scores/simulated/crows_pairs/recommended/pair/age.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the workflow with a finished run in it, up to scores."""
    folder = copy_workflow(tmp_path_factory.mktemp("run") / "workflow")
    (folder / "config.json").write_text(json.dumps(KNOWN))
    done = snakemake(TARGET, "--configfile", "config.json", folder=folder, root=folder, cwd=folder)
    assert done.returncode == 0, done.stdout
    return folder


def rules_of_next(folder):
    """Names of the rules that `bias-atlas run` has jobs of, by the logs that it writes.

    It reads the profile in ``folder`` by itself.
    """
    logs, began = folder / "results/logs", time.time_ns()
    command = [sys.executable, "-m", "biasatlas", "run", "config.json", "--cores", "1", "--", TARGET]
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return {path.relative_to(logs).parts[0] for path in logs.rglob("*.log") if path.stat().st_mtime_ns > began}


def test_an_edit_that_rebuilds_the_same_requests_asks_no_model(folder):
    path = folder / "scripts/biasatlas/benchmarks/families/pairs/items.py"
    path.write_text(steps.edited_text(path.read_text(), "build_requests", steps.body("assert True")))
    assert rules_of_next(folder) == {"build_requests"}
    again = snakemake(TARGET, "--dry-run", "--configfile", "config.json", folder=folder, root=folder, cwd=folder)
    assert "Nothing to be done" in again.stdout


def test_an_edit_that_changes_requests_asks_the_model(folder):
    path = next((folder / "resources/samples/crows_pairs").rglob("*.csv"))
    path.write_text(path.read_text().replace(" old ", " aged "))
    assert {"build_requests", "answer_requests"} <= rules_of_next(folder)
