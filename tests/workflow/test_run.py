"""A run in two stages: requests that are rebuilt with the same bytes ask no model."""

import json
import os
import subprocess
import sys

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
    """Run the workflow in ``folder`` up to scores, as the command does."""
    code = "import sys; from biasatlas.workflow.run import run; sys.exit(run(sys.argv[1:]))"
    target = "results/scores/simulated/crows_pairs/recommended/pair/age.csv"
    given = [target, "--configfile", "config.json", "--cores", "1", "--workflow-profile", "none"]
    env = os.environ | {"PYTHONPATH": "scripts"}
    return subprocess.run(
        [sys.executable, "-c", code, *given],
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_an_edit_that_rebuilds_the_same_requests_asks_no_model(folder):
    path = folder / "scripts/biasatlas/benchmarks/families/pairs/requests.py"
    path.write_text(steps.edited_text(path.read_text(), "build_requests", steps.body("assert True")))
    done = start(folder)
    assert done.returncode == 0, done.stdout
    assert "rule build_requests:" in done.stdout
    assert "rule answer_requests:" not in done.stdout
    assert "Nothing to be done" in start(folder).stdout
