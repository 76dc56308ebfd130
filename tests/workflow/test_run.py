"""A run in two stages: requests that are rebuilt with the same bytes ask no model."""

import json
import subprocess
import sys
import time

import pytest
import steps
from conftest import copy_workflow

CONFIG = {
    "results": "results",
    "models": {"simulated": {"kind": "simulated"}},
    "benchmarks": {"crows_pairs": {"data": "sample", "tasks": ["pair"]}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the workflow with a finished run in it."""
    folder = copy_workflow(tmp_path_factory.mktemp("run") / "workflow")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    assert start(folder).returncode == 0
    return folder


def start(folder):
    """Run the workflow in ``folder`` up to scores, with the profile that is read by itself there."""
    target = "results/scores/simulated/crows_pairs/recommended/pair/age.csv"
    return subprocess.run(
        [sys.executable, "-m", "biasatlas", "run", "config.json", "--cores", "1", "--", target],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def rules_of_next(folder):
    """Names of the rules that one more run has jobs of, by the logs that it writes."""
    logs, began = folder / "results/logs", time.time_ns()
    done = start(folder)
    assert done.returncode == 0, done.stdout
    return {path.relative_to(logs).parts[0] for path in logs.rglob("*.log") if path.stat().st_mtime_ns > began}


def test_an_edit_that_rebuilds_the_same_requests_asks_no_model(folder):
    path = folder / "scripts/biasatlas/benchmarks/families/pairs/items.py"
    path.write_text(steps.edited_text(path.read_text(), "build_requests", steps.body("assert True")))
    assert rules_of_next(folder) == {"build_requests"}
    assert rules_of_next(folder) == set()


def test_an_edit_that_changes_requests_asks_the_model(folder):
    path = next((folder / "resources/samples/crows_pairs").rglob("*.csv"))
    path.write_text(path.read_text().replace(" old ", " aged "))
    assert {"build_requests", "answer_requests"} <= rules_of_next(folder)
