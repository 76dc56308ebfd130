"""Files: whole or not there, the same bytes for the same rows."""

import csv
import errno
import os
import re
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from biasatlas import files
from biasatlas.columns import REQUEST_COLUMNS, TABLE_COLUMNS
from biasatlas.errors import UserError
from biasatlas.report.packing import pack_text
from biasatlas.workflow.identity import SCRIPTS
from biasatlas.workflow.job import explain, job


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-1+1", "- a", "@SUM(A1)", "\tx", "\rx", "'=1", "''-x"])
@pytest.mark.parametrize("type_", ["str", "object", "category"])
def test_no_cell_is_a_formula(text, type_, tmp_path):
    frame = pd.DataFrame({"text": [text, "x = 1", "'so'", "-0.5", None], "n": [-1, 2, 3, 4, 5]})
    files.write_csv(frame.astype({"text": type_}), tmp_path / "a.csv")
    raw = pd.read_csv(tmp_path / "a.csv")
    assert raw["text"].dropna().tolist() == [f"'{text}", "x = 1", "'so'", "-0.5"]  # a printed number stays one
    assert raw["n"].tolist() == [-1, 2, 3, 4, 5]
    pd.testing.assert_frame_equal(files.read_csv(tmp_path / "a.csv"), frame)


@given(st.lists(st.text("a=+-@\t\r\n'\",1.\x85") | st.none() | st.floats(allow_nan=False), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_csv_gives_back_what_was_written(tmp_path, cells):
    frame = pd.DataFrame({"text": pd.Series(cells, dtype="object"), "n": -0.5})
    files.write_csv(frame, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        raw = [row["text"] for row in csv.DictReader(file)]
    texts = ["" if cell is None else str(cell) for cell in cells]
    for text, cell in zip(raw, texts, strict=True):
        assert text in (cell, f"'{cell}")
        assert not re.match(r"[=+@\t\r]|-(?!([0-9.]+|inf|[0-9.]+e.?[0-9]+)\Z)", text)
    back = files.read_csv(tmp_path / "a.csv", text="str")
    assert back["text"].fillna("").tolist() == texts and (back["n"] == -0.5).all()


def test_names_that_are_numbers_stay_names(tmp_path):
    """A model called 4.10, and items called by numbers where some rows have none."""
    frame = pd.DataFrame({"model": ["4.10", "007"], "category": ["2020", "1"], "item": ["42", None], "n": [1, 2]})
    files.write_csv(frame, tmp_path / "a.csv")
    pd.testing.assert_frame_equal(files.read_csv(tmp_path / "a.csv"), frame)


def test_the_same_rows_give_the_same_bytes(tmp_path):
    frame = pd.DataFrame({"request_id": ["a", "b"], "item_id": ["1", "2"], "kind": "likelihood", "role": ["x", None]})
    for name in ("one", "two"):
        files.write_requests(frame, tmp_path / name, {"role": "string"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    back = files.read_parquet(tmp_path / "one")
    assert list(back.columns) == [*REQUEST_COLUMNS, "role"]
    assert back["temperature"].isna().all()


def test_a_prompt_before_many_continuations_is_read_once(tmp_path):
    prompts = {"request_id": list("abc"), "item_id": "1", "kind": "likelihood", "messages": ["hm", "hm", None]}
    files.write_requests(pd.DataFrame(prompts), tmp_path / "requests", {})
    read, plain = files.read_requests(tmp_path / "requests"), files.read_parquet(tmp_path / "requests")
    pd.testing.assert_frame_equal(read, plain, check_dtype=False)
    assert read["messages"][0] is read["messages"][1]
    assert read["labels"].dtype == plain["labels"].dtype  # without a text in it


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), files.atomic_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path, capsys):
    path = tmp_path / "out" / "table.parquet"
    with pytest.raises(SystemExit), job(described(tmp_path / "rule.log")), files.atomic_file(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert capsys.readouterr().err.startswith(f"error: {path}: the disk is full (")
    assert not os.listdir(path.parent)


def test_no_requests_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no requests"):
        files.write_requests(pd.DataFrame({"request_id": []}), tmp_path / "requests.parquet", {})


def test_floats_survive_a_csv(tmp_path):
    frame = pd.DataFrame({"value": [0.1 + 0.2, 1e-300, None], "name": ["NA", "", None]})
    files.write_csv(frame, tmp_path / "a.csv")
    back = files.read_csv(tmp_path / "a.csv")
    assert back["value"].tolist()[:2] == frame["value"].tolist()[:2]
    assert back["name"][0] == "NA"


def test_scores_say_whose_they_are(tmp_path):
    path = tmp_path / "scores.csv"
    frame = pd.DataFrame({"item_id": ["1"], "status": ["ok"], "score": [0.5]})
    files.write_scores(frame, path, ["item_id", "score", "status"], model="1e3", task="perplexity", category="a-b")
    assert path.read_text() == "model,task,category,item_id,score,status\n1e3,perplexity,a-b,1,0.5,ok\n"
    assert files.read_scores([path])[["model", "item_id"]].to_numpy().tolist() == [["1e3", "1"]]


def test_a_tasks_scores_are_those_of_its_categories_and_know_what_they_are_from(tmp_path):
    """Also where a column has numbers in one category and texts in another, and where a category has no row."""
    keys = ["item_id", "label", "term", "score", "status"]
    frame = pd.DataFrame({"item_id": ["1", "2"], "label": [1, 2], "term": [None, "=x"], "score": [0.1 + 0.2, None]})
    parts = [frame, frame.assign(label=["a", None], term=None, score=1), frame[:0]]
    paths = [tmp_path / f"{number}.csv" for number in range(3)]
    for part, path in zip(parts, paths, strict=True):
        files.write_scores(part.assign(status="ok"), path, keys, model="m", task="t", category=path.stem)
    files.write_task_scores(paths, tmp_path / "t.parquet", {"task": "t"})
    assert files.read_metadata(tmp_path / "t.parquet") == {"task": "t"}
    scores, apart = files.read_task_scores([tmp_path / "t.parquet"]), files.read_scores(paths)
    assert scores["label"].tolist()[:3] == ["1", "2", "a"] and scores["label"].isna()[3]
    pd.testing.assert_frame_equal(scores.drop(columns="label"), apart.drop(columns="label"), check_dtype=False)
    assert files.read_task_scores([]).empty


LIKELIHOOD = {
    "request_id": "a",
    "repeat": 0,
    "status": "ok",
    "detail": "",
    "log_likelihood": -1.5,
    "tokens": 3,
    "nll_per_token": 0.5,
}
REPLY = {
    "request_id": "b",
    "repeat": 0,
    "status": "ok",
    "detail": "",
    "text": "A",
    "finish_reason": "stop",
    "prompt_tokens": 1,
    "completion_tokens": 1,
}


def test_tasks_of_several_kinds_share_a_file(tmp_path):
    path = tmp_path / "responses.parquet"
    parts = {
        "pair": (pd.DataFrame([LIKELIHOOD]), "likelihood", {"engine": "tree", "run": {"computed": 1}}),
        "story": (pd.DataFrame([REPLY]), "generation", {"engine": "plain"}),
    }
    files.write_responses(parts, path, tmp_path / "run.json")
    assert files.read_responses(path, "pair").to_dict("records") == [LIKELIHOOD]
    assert files.read_responses(path, "story").to_dict("records") == [REPLY]
    assert files.read_metadata(path) == {"pair": {"engine": "tree"}, "story": {"engine": "plain"}}
    assert '"computed": 1' in (tmp_path / "run.json").read_text()


@pytest.mark.parametrize(
    ("write", "fault"),
    [
        (lambda path: files.write_requests(REQUESTS.assign(rolle="x"), path, {}), "column 'rolle' is not declared"),
        (lambda path: files.write_requests(REQUESTS, path, {"role": "string"}), "no column 'role'"),
        (lambda path: files.write_requests(pd.concat([REQUESTS] * 2), path, {}), "request_id 'a' occurs 2 times"),
        (lambda path: files.write_items(REQUESTS[["kind"]], path, {"kind": "string"}, {}), "no column 'item_id'"),
        (lambda path: files.write_scores(SCORES, path, ["n"], model="m", task="t", category="c"), "'status' is not"),
        (lambda path: files.write_table(TABLE.drop(columns="n"), path, ["rate"]), "expected key columns"),
        (lambda path: files.write_table(TABLE, path, ["rates"]), "metric 'rate' is not declared"),
        (
            lambda path: files.write_responses(
                {"t": (pd.DataFrame([REPLY | {"status": "o"}]), "generation", {})}, path
            ),
            "status ['o'] is none of",
        ),
    ],
    ids=["request column", "request key", "request id", "item column", "score column", "table", "metric", "status"],
)
def test_columns_are_checked_where_they_are_written(tmp_path, write, fault):
    with pytest.raises(ValueError, match=re.escape(fault)):
        write(tmp_path / "file")
    assert not os.listdir(tmp_path)


REQUESTS = pd.DataFrame({"request_id": ["a"], "item_id": ["1"], "kind": "choice"})
SCORES = pd.DataFrame({"n": [1], "status": ["ok"]})
TABLE = pd.DataFrame([dict.fromkeys(["model", *TABLE_COLUMNS], 0) | {"metric": "rate"}])


def described(log):
    """A job as Snakemake describes it to a script."""
    return SimpleNamespace(rule="rule", log=[str(log)], scriptdir=str(SCRIPTS), wildcards={}, params={})


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (UserError("a.csv, row 3: no"), "a.csv, row 3: no"),
        (OSError(errno.ENOSPC, "No space left on device", "results/a.csv"), "results/a.csv: the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "results/a.csv"), "results/a.csv: may not be written"),
        (KeyError("x"), None),
    ],
)
def test_explain(error, message):
    text = explain(error)
    assert (text or "").startswith(message or "")
    assert (text is None) == (message is None)


def test_a_users_error_is_one_message_and_status_1(tmp_path, capsys):
    log = tmp_path / "logs" / "rule.log"
    with pytest.raises(SystemExit) as stop, job(described(log)):
        raise UserError("a.csv, row 3: 'x' is not a number")
    assert stop.value.code == 1
    assert capsys.readouterr().err == "error: a.csv, row 3: 'x' is not a number\n"
    assert "Traceback" not in log.read_text()


def test_a_library_from_elsewhere_is_named(tmp_path, capsys):
    elsewhere = described(tmp_path / "rule.log")
    elsewhere.scriptdir = str(tmp_path)
    with pytest.raises(SystemExit), job(elsewhere):
        pass
    assert "this library is found before that of the workflow" in capsys.readouterr().err


def test_texts_that_repeat_are_read_once_and_are_the_same(tmp_path):
    rows = {"id": ["a", "b", "c"], "text": ["x", None, "x"], "count": [1, 2, 3]}
    files.write_parquet(pd.DataFrame(rows), tmp_path / "rows.parquet", {"id": "string", "text": "string"})
    read = files.read_repeated(tmp_path / "rows.parquet", ["id"], pd.Series(["c", "b", "none"]))
    assert read["id"].tolist() == ["b", "c"] and read["count"].tolist() == [2, 3]
    assert read["text"].cat.categories.tolist() == ["x"]
    assert pack_text(read["text"])[0] == "c"
