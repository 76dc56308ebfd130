"""Two runs compared: what went in otherwise, and which numbers moved."""

import subprocess
import sys

import pandas as pd
import pytest

from biasatlas import ROOT, commands
from biasatlas.errors import UserError
from biasatlas.files import write_csv
from biasatlas.workflow import provenance
from biasatlas.workflow.finished import compare, reparse_replies

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


def test_provenance_may_hold_lists_and_nothing(tmp_path):
    """Options are lists at times, a table of printed numbers alone has no scores, comparisons hold other names."""
    origin = {"data": {}, "options": {"groups": ["x", "y"], "seed": 1}, "scores": {}, "bbq": {"data": {"a.json": "aa"}}}
    left = run(tmp_path / "one", origin=origin)
    inputs, numbers = compare(left, run(tmp_path / "two", origin=origin))
    assert inputs.empty
    assert numbers.empty
    inputs, _ = compare(
        left, run(tmp_path / "three", origin=origin | {"options": {"groups": ["x"]}, "data": {"b": "c"}})
    )
    assert sorted(inputs.fillna("-").itertuples(index=False, name=None)) == [
        ("data", "{}", "-", 1),
        ("data.b", "-", "c", 1),
        ("options.groups", '["x", "y"]', '["x"]', 1),
        ("options.seed", 1, "-", 1),
    ]


def test_a_row_is_what_stands_before_its_value(tmp_path):
    """Counts that changed, or that only one of the runs has, make no row another one."""
    left = run(tmp_path / "one", TABLE.assign(missing=[0, 1, 2]))
    _, numbers = compare(left, run(tmp_path / "two", TABLE.assign(n=9, value=[0.25, 0.75, None], failed=1)))
    assert numbers[["row", "metric", "left", "right"]].to_numpy().tolist() == [["a", "rate", 0.5, 0.75]]


def test_a_number_whose_verdict_changed_moved_by_the_difference(tmp_path):
    """And one of which only other words are said did not move."""
    said = TABLE[["model", "metric", "value"]]
    said.insert(1, "verdict", ["undecided", "biased", "undecided"])
    said.insert(2, "why", ["too close to call", "it lies beyond", "too close to call"])
    left = run(tmp_path / "left", said)
    _, numbers = compare(left, run(tmp_path / "words", said.assign(why="more words", item="42")))
    assert numbers.empty
    _, numbers = compare(left, run(tmp_path / "moved", said.assign(verdict="unbiased", value=[0.25, 0.75, None])))
    assert numbers[["row", "left", "right"]].to_numpy().tolist() == [["a #2", 0.5, 0.75]]


def test_what_a_run_lacks_is_a_dash(tmp_path, capsys):
    right = run(tmp_path / "two", origin=ORIGIN | {"data": {}})
    assert commands.compare(str(run(tmp_path / "one")), str(right)) == 0
    assert "data.raw.csv aa - 1" in " ".join(capsys.readouterr().out.split())


def test_a_table_without_metrics_compares(tmp_path):
    """As runs of the first version have them."""
    table = pd.DataFrame({"key": ["x", "x", "y"], "value": [1.0, 2.0, 3.0], "published": ["1", "2", None]})
    moved = table.assign(value=[1.0, 2.5, 3.0])
    _, numbers = compare(run(tmp_path / "one", table), run(tmp_path / "two", moved))
    assert numbers[["row", "difference"]].to_numpy().tolist() == [["x #2", 0.5]]


def test_an_empty_table_compares(tmp_path):
    inputs, numbers = compare(run(tmp_path / "one", TABLE[:0]), run(tmp_path / "two", TABLE[:0]))
    assert inputs.empty
    assert numbers.empty


def test_a_folder_without_tables_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no tables there"):
        compare(tmp_path, run(tmp_path / "two"))


@pytest.mark.parametrize("content", [b"", b"model,met", b"model,metric,value\na,rate,none\n", b"\x00\xff", b'a,b\n"c'])
def test_a_damaged_table_is_named(tmp_path, content):
    left, right = run(tmp_path / "one"), run(tmp_path / "two")
    (right / "tables/bench/paper/rates.csv").write_bytes(content)
    with pytest.raises(UserError, match=r"two/tables/bench/paper/rates\.csv: damaged, or of no run\. Remove"):
        compare(left, right)
    with pytest.raises(UserError, match=r"rates\.json: damaged, or of no run"):
        (run(right) / "tables/bench/paper/rates.json").write_bytes(content)
        compare(left, right)


@pytest.mark.parametrize("content", [b"", b"PAR1 cut short"])
def test_damaged_responses_are_named_where_replies_are_parsed_anew(tmp_path, content):
    path = tmp_path / "responses/m/bbq/recommended.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"m/bbq/recommended\.parquet: damaged, or of no run\. Remove it"):
        reparse_replies(tmp_path, "letter", 1)


def test_the_command_exits_as_diff_does(tmp_path):
    left, right = run(tmp_path / "one"), run(tmp_path / "two", TABLE.assign(value=[0.3, 0.5, None]))
    command = [sys.executable, "-m", "biasatlas", "compare", str(left)]
    same, other, broken = (
        subprocess.run([*command, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)
        for folder in (left, right, tmp_path / "three")
    )
    assert (same.returncode, other.returncode, broken.returncode) == (0, 1, 2)
    assert "0 inputs differ\n0 numbers moved" in same.stdout
    assert "0 inputs differ\n1 numbers moved" in other.stdout
    assert "no tables there" in broken.stderr
