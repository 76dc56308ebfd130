"""What fails costs its own rows: all else is made, the report names the gap and the reason, and a repair closes it."""

import json
import shutil

import pytest
from conftest import copy_workflow, snakemake
from small_run import KNOWN, write_config

from biasatlas.files import read_csv

TABLES = "results/tables/crows_pairs/recommended"


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A run of two models, one without its weights, in a workflow whose one figure cannot be drawn."""
    folder = tmp_path_factory.mktemp("partial")
    root = copy_workflow(folder / "workflow")
    config = write_config(folder, 1)
    written = json.loads(config.read_text())
    config.write_text(json.dumps(KNOWN | {"models": KNOWN["models"] | written["models"]}))
    shutil.move(folder / "tiny-0/model.safetensors", folder / "weights")
    figures = root / "scripts/biasatlas/benchmarks/families/pairs/scores.py"
    drawn = figures.read_text()
    figures.write_text(
        drawn.replace(
            '@figure("scores")\n',
            '@figure("scores")\ndef broken(*_):\n    raise ValueError("no ink in {choices.0}")\n\n\n',
        )
    )
    assert figures.read_text() != drawn
    run = snakemake("--configfile", str(config), folder=folder, root=root)

    def repaired():
        shutil.move(folder / "weights", folder / "tiny-0/model.safetensors")
        figures.write_text(drawn)
        return snakemake("--configfile", str(config), folder=folder, root=root)

    return folder, root, config, run, repaired


def test_a_failure_costs_its_own_rows_until_it_is_repaired(broken):
    folder, root, config, run, repaired = broken
    assert run.returncode != 0
    assert "tiny-0: no weights there" in run.stdout
    assert not (folder / "results/responses/tiny-0").exists()
    assert set(read_csv(folder / TABLES / "scores.csv")["model"]) == {"simulated"}
    page = (folder / "results/report/index.html").read_text()
    assert "model tiny-0 in crows_pairs (recommended) pair:" in page
    assert "no weights there" in page
    assert "figure scores of crows_pairs (recommended): ValueError: no ink in {choices.0}" in page
    planned = snakemake("--dry-run", "--configfile", str(config), folder=folder, root=root).stdout
    assert "answer_requests" in planned and "write_report" in planned

    again = repaired()
    assert again.returncode == 0, again.stdout
    assert set(read_csv(folder / TABLES / "scores.csv")["model"]) == {"simulated", "tiny-0"}
    assert "Not complete" not in (folder / "results/report/index.html").read_text()
    assert "Nothing to be done" in snakemake("--dry-run", "--configfile", str(config), folder=folder, root=root).stdout


def test_a_table_alone_whose_only_model_failed_ends_in_a_sentence(tmp_path):
    config = write_config(tmp_path, 1)
    (tmp_path / "tiny-0/model.safetensors").unlink()
    wanted = [f"results/tables/twbias/recommended/{table}.csv" for table in ("gender", "outcomes")]
    run = snakemake(*wanted, "--configfile", str(config), folder=tmp_path)
    assert run.returncode != 0 and "Traceback" not in run.stdout
    assert "error: table gender of twbias (recommended): no model has scores for it" in run.stdout
    assert "table outcomes of twbias (recommended): no model has answers" in run.stdout
