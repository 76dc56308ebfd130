"""Planning: every shipped configuration plans, bad ones are refused before any job, an edit reruns what it should."""

import re
import shutil

import pytest
from conftest import ROOT, snakemake

CONFIGS = sorted((ROOT / "config").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_shipped_configuration_plans(path, tmp_path):
    run = snakemake("--dry-run", "--configfile", str(path), folder=tmp_path)
    assert run.returncode == 0, run.stdout
    assert "Job stats" in run.stdout


def test_a_bad_configuration_is_one_message_and_no_job(tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text(
        (ROOT / "config/config.yaml").read_text().replace("planted, odds_ratio: 4", "planted, odds_ration: 4")
    )
    run = snakemake("--configfile", str(config), folder=tmp_path)
    assert run.returncode != 0
    assert f"error: {config}: models.planted-biased.odds_ratio: this key is needed and not there\n" in run.stdout
    assert f"\n{config}: models.planted-biased.odds_ration: unknown key; did you mean 'odds_ratio'?" in run.stdout
    assert "Traceback" not in run.stdout
    assert not (tmp_path / "results").exists()


def test_every_target_explains_itself(tmp_path):
    run = snakemake("--list-target-rules", folder=tmp_path)
    targets = [line for line in run.stdout.splitlines() if re.match(r"\w+( \(|$)", line)]
    assert "demo" in [line.split()[0] for line in targets]
    assert all(re.match(r"\w+ \(.+\)$", line) for line in targets), targets


@pytest.fixture
def clone(tmp_path):
    """A copy of the workflow that a test may edit."""
    copy = tmp_path / "clone"
    everywhere = shutil.ignore_patterns("__pycache__", ".*_cache")
    made_here = {".git", ".venv", ".snakemake", "results", "data"}
    shutil.copytree(
        ROOT,
        copy,
        ignore=lambda folder, names: everywhere(folder, names) | (made_here if folder == str(ROOT) else set()),
    )
    return copy


def planned_rules(output: str) -> set[str]:
    """Names of the rules in the job statistics of a dry run."""
    table = output.split("Job stats:", 1)[1].split("total", 1)[0] if "Job stats:" in output else ""
    return {line.split()[0] for line in table.splitlines()[3:] if line.strip()}


def test_an_edited_module_reruns_the_rules_that_use_it(clone, tmp_path):
    target = "results/demo/requests/twbias/recommended/perplexity.parquet"
    run = snakemake(target, folder=tmp_path, root=clone)
    assert run.returncode == 0, run.stdout
    assert "Nothing to be done" in snakemake("--dry-run", target, folder=tmp_path, root=clone).stdout
    for module, rules in (
        ("items", {"read_items", "build_requests"}),
        ("requests", {"build_requests"}),
        ("tables", set()),
    ):
        path = clone / "scripts/biasatlas/benchmarks/twbias" / f"{module}.py"
        original = path.read_text()
        path.write_text(original + "\n# edited\n")
        run = snakemake("--dry-run", target, folder=tmp_path, root=clone)
        assert planned_rules(run.stdout) == rules, run.stdout
        path.write_text(original)
