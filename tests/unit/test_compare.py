"""Two runs compared: what went in otherwise, and which numbers moved."""

import subprocess
import sys

import pandas as pd
import pytest

from biasatlas.workflow import provenance
from biasatlas.workflow.compare import compare
from biasatlas.workflow.config import ROOT
from biasatlas.errors import UserError
from biasatlas.files import write_csv

TABLE = pd.DataFrame(
    {
        "model": ["a", "a", "b"],
        "group": ["x", None, "x"],
        "metric": ["rate", "rate", "rate"],
        "value": [0.25, 0.5, float("nan")],
        "n": [4, 2, 0],
    }
)
ORIGIN = {"data": {"raw.csv": "aa"}, "scores": {"a/task": {"model": {"dtype": "float32"}}}}


def run(folder, table=TABLE, origin=ORIGIN, name="rates"):
    write_csv(table, folder / f"tables/bench/paper/{name}.csv")
    provenance.write(origin, folder / f"tables/bench/paper/{name}.json")
    return folder


def test_equal_runs_differ_in_nothing(tmp_path):
    inputs, numbers = compare(run(tmp_path / "one"), run(tmp_path / "two"))
    assert inputs.empty
    assert numbers.empty


def test_what_differs_is_named(tmp_path):
    origin = {"data": {"raw.csv": "bb", "new.csv": "cc"}, "scores": ORIGIN["scores"]}
    moved = TABLE.assign(value=[0.25, 0.75, 1.0])
    left, right = (run(tmp_path / name, name="more") for name in ("one", "two"))
    inputs, numbers = compare(run(left), run(right, moved, origin))
    assert sorted(inputs.fillna("-").itertuples(index=False, name=None)) == [
        ("data.new.csv", "-", "cc", 1),
        ("data.raw.csv", "aa", "bb", 1),
    ]
    assert list(numbers["table"]) == ["bench/paper/rates"] * 2
    assert dict(zip(numbers["row"], numbers["difference"].fillna(-9), strict=True)) == {"a": 0.25, "b, x": -9}


def test_a_table_of_one_run_alone_has_only_numbers_that_moved(tmp_path):
    left, right = run(tmp_path / "one"), run(tmp_path / "two")
    run(right, name="more")
    inputs, numbers = compare(left, right)
    assert inputs.empty
    assert list(numbers["right"]) == [0.25, 0.5]


def test_an_empty_table_compares(tmp_path):
    inputs, numbers = compare(run(tmp_path / "one", TABLE[:0]), run(tmp_path / "two", TABLE[:0]))
    assert inputs.empty
    assert numbers.empty


def test_a_folder_without_tables_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no tables there"):
        compare(tmp_path, run(tmp_path / "two"))


def test_the_command_exits_as_diff_does(tmp_path):
    left, right = run(tmp_path / "one"), run(tmp_path / "two", TABLE.assign(value=[0.3, 0.5, None]))
    command = [sys.executable, str(ROOT / "scripts/compare_runs.py"), str(left)]
    same, other, broken = (
        subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        for folder in (left, right, tmp_path / "three")
    )
    assert (same.returncode, other.returncode, broken.returncode) == (0, 1, 2)
    assert "0 inputs differ\n1 numbers moved" in other.stdout
    assert "no tables there" in broken.stderr
