"""Files: whole or not there, the same bytes for the same rows."""

import errno
import os

import pandas as pd
import pytest

from biasatlas import files
from biasatlas.workflow import job as script
from biasatlas.errors import UserError


def test_the_same_rows_give_the_same_bytes(tmp_path):
    frame = pd.DataFrame({"request_id": ["a", "b"], "item_id": ["1", "2"], "kind": "likelihood", "role": ["x", None]})
    for name in ("one", "two"):
        files.write_requests(frame, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    back = files.read_parquet(tmp_path / "one")
    assert list(back.columns) == [*files.REQUEST_COLUMNS, "role"]
    assert back["temperature"].isna().all()


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
    with pytest.raises(SystemExit), script.logged(str(tmp_path / "rule.log")), files.atomic_file(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert capsys.readouterr().err.startswith(f"error: {path}: the disk is full (")
    assert not os.listdir(path.parent)


def test_no_requests_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no requests"):
        files.write_requests(pd.DataFrame({"request_id": []}), tmp_path / "requests.parquet")


def test_floats_survive_a_csv(tmp_path):
    frame = pd.DataFrame({"value": [0.1 + 0.2, 1e-300, None], "name": ["NA", "", None]})
    files.write_csv(frame, tmp_path / "a.csv")
    back = files.read_csv(tmp_path / "a.csv")
    assert back["value"].tolist()[:2] == frame["value"].tolist()[:2]
    assert back["name"][0] == "NA"


def test_scores_are_named_by_their_path(tmp_path):
    path = tmp_path / "model/twbias/paper/perplexity/female-male.csv"
    files.write_csv(pd.DataFrame({"item_id": ["1"]}), path)
    scores = files.read_scores([path])
    assert scores.to_dict("records") == [
        {"model": "model", "task": "perplexity", "category": "female-male", "item_id": "1"}
    ]


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
    text = script.explain(error)
    assert (text or "").startswith(message or "")
    assert (text is None) == (message is None)


def test_a_users_error_is_one_message_and_status_1(tmp_path, capsys):
    log = tmp_path / "logs" / "rule.log"
    with pytest.raises(SystemExit) as stop, script.logged(str(log)):
        raise UserError("a.csv, row 3: 'x' is not a number")
    assert stop.value.code == 1
    assert capsys.readouterr().err == "error: a.csv, row 3: 'x' is not a number\n"
    assert "Traceback" not in log.read_text()
