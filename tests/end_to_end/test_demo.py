"""The demo: bias found where it was planted and not elsewhere, nothing to do twice, the same bytes after kills."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from conftest import ROOT, snakemake


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder with the finished demo."""
    folder = tmp_path_factory.mktemp("demo")
    run = snakemake("demo", folder=folder)
    assert run.returncode == 0, run.stdout
    return folder


def table(folder, name):
    return pd.read_csv(folder / f"results/demo/tables/twbias/recommended/{name}.csv")


def test_planted_bias_is_found_and_its_absence_too(demo):
    pairs = table(demo, "double_difference")
    d = pairs[pairs["metric"] == "double_difference_d"].set_index(["model", pairs.columns[1], pairs.columns[2]])
    biased, fair = d.loc["planted-biased"], d.loc["planted-fair"]
    assert (biased["ci_low"] > 0).all(), biased
    assert (fair["value"].abs() < biased["value"].abs().min() / 2).all(), fair


def test_report_holds_every_figure_and_says_that_it_is_a_demonstration(demo):
    page = (demo / "results/demo/report/index.html").read_text(encoding="utf-8")
    figures = list((demo / "results/demo/figures").rglob("*.svg"))
    assert page.count("data:image/svg+xml;base64,") == len(figures) > 0
    assert "Demonstration" in page


def test_a_second_run_does_nothing(demo):
    assert "Nothing to be done" in snakemake("--dry-run", "demo", folder=demo).stdout


def digests(folder):
    """SHA-256 of every result, but for what says how a run went: logs, timings, the store."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
        and not {"logs", "benchmarks", "store"} & set(path.relative_to(folder).parts)
        and not path.name.endswith(".run.json")
    }


def test_killed_and_started_again_it_ends_with_the_same_bytes(demo, tmp_path):
    """Snakemake and its jobs are killed at random moments; planted models, the slowest part, come from the other run."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(tmp_path)]
    command += ["--cores", "2", "--profile", "none", "--workflow-profile", str(ROOT / "profiles/default"), "demo"]
    rng = random.Random(20240607)
    for _ in range(4):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(rng.uniform(4, 14))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        snakemake("--unlock", folder=tmp_path)
    run = snakemake("demo", folder=tmp_path)
    assert run.returncode == 0, run.stdout
    assert digests(tmp_path) == digests(demo)
