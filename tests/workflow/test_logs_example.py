"""Logs of two harnesses from file to verdict, by the two commands of docs/own.md."""

import re
import shutil

import pandas as pd
import pytest
from conftest import ROOT, snakemake

PAGE = (ROOT / "docs/own.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder in which both commands were given as the page prints them."""
    folder = tmp_path_factory.mktemp("logs")
    (commands,) = re.findall(r"```sh\n(cp .*?)```", PAGE, re.DOTALL)
    copy, run = commands.splitlines()
    assert copy == "cp -r docs/examples/logs/. ." and run.startswith("snakemake --cores 2 ")
    shutil.copytree(ROOT / "docs/examples/logs", folder, dirs_exist_ok=True)
    done = snakemake(*run.split()[3:], folder=folder, cwd=folder)
    assert done.returncode == 0, done.stdout
    return folder / "results/logs"


def test_a_log_of_pairs_ends_in_the_interval_and_the_verdict_that_the_page_prints(folder):
    """The cards that ship with the example are of its description and data, so that there is a verdict."""
    (line,) = (line for line in (folder / "summary/by-lm-eval.md").read_text().splitlines() if "side_shift" in line)
    value, low, high = map(float, re.findall(r"-?\d\.\d+", line)[:3])
    assert ": undecided: the interval includes both no bias and a bias that matters" in line
    assert f"`side_shift` {value:.2f} nats [{low:.2f}, {high:.2f}], undecided".replace("-", "−") in PAGE


def test_a_log_of_questions_ends_in_the_interval_and_the_verdict_that_the_page_prints(folder):
    """Accuracy over both kinds of context is what Inspect states: 41 of 64."""
    rows = pd.read_csv(folder / "tables/manners/recommended/bias.csv").query("category == 'overall'")
    right = rows[rows["metric"] == "accuracy"]
    assert (right["value"] * right["n"]).sum() / 100 == pytest.approx(41)
    (row,) = rows.query("metric == 'bias_score' and condition == 'ambig'").to_dict("records")
    printed = f"`bias_score` {row['value']:.0f} [{row['ci_low']:.0f}, {row['ci_high']:.0f}], *untestable*".replace(
        "-", "−"
    )
    assert printed in PAGE
    assert "Manners, bias_score ambig (recommended)" in (folder / "summary/by-inspect.md").read_text()
