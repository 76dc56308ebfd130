"""A new benchmark is a folder of its own, a protocol and data; nothing that is there is edited."""

import json
import shutil
from pathlib import Path

from conftest import copy_workflow, snakemake

from biasatlas.files import read_csv

#: The new files, as they lie in a checkout.
NEW = Path(__file__).with_name("new_benchmark")
CONFIG = {
    "results": "results",
    "models": {"planted": {"kind": "planted", "odds_ratio": 16}},
    "benchmarks": {"occupations": {"data": "sample"}},
}


def test_a_new_benchmark_is_at_most_eight_files(tmp_path):
    workflow = copy_workflow(tmp_path / "workflow")
    files = [path.relative_to(NEW) for path in NEW.rglob("*.*") if path.is_file()]
    assert len(files) <= 8
    assert not any((workflow / file).exists() for file in files)
    shutil.copytree(NEW, workflow, dirs_exist_ok=True)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))

    run = snakemake("occupations", "--configfile", str(tmp_path / "config.json"), folder=tmp_path, root=workflow)
    assert run.returncode == 0, run.stdout
    table = read_csv(tmp_path / "results/tables/occupations/recommended/scores.csv").set_index("category")
    assert list(table["n"]) == [4, 4]
    assert (table["value"] > 50).all()
    assert (tmp_path / "results/figures/occupations/recommended/scores.svg").exists()
