"""Where a result comes from: what score files and tables say of the files that they were made from."""

import pandas as pd

from biasatlas import ROOT
from biasatlas.files import write_parquet
from biasatlas.workflow import provenance


def files(folder):
    """Items, requests, and responses to two tasks, each with metadata of its own."""
    rows = pd.DataFrame({"item_id": ["1"]})
    write_parquet(rows, folder / "items.parquet", metadata={"files": {"raw.csv": "aa"}})
    write_parquet(rows, folder / "requests.parquet")
    write_parquet(rows, folder / "responses.parquet", metadata={"first": {"seed": 1}, "second": {"seed": 2}})
    return {name: str(folder / f"{name}.parquet") for name in ("items", "requests", "responses")}


def scored(folder, task, judgements=None, **settings):
    inputs = files(folder)
    return provenance.of_scores(
        name="m",
        task=task,
        model={"dtype": "float32"},
        judgements=inputs["responses"] if judgements else None,
        **inputs,
        **settings,
    )


def test_scores_say_how_their_own_task_was_answered(tmp_path):
    origin = scored(tmp_path, "second", protocol="paper")
    assert origin["model"] == {"dtype": "float32", "seed": 2}
    assert (origin["name"], origin["task"], origin["protocol"]) == ("m", "second", "paper")
    assert origin["data"] == {"raw.csv": "aa"}
    assert origin["requests_sha256"] == provenance.sha256(tmp_path / "requests.parquet")
    assert "judge" not in origin


def test_scores_of_a_judge_say_how_it_judged(tmp_path):
    assert scored(tmp_path, "first", judgements=True)["judge"] == {"seed": 1}


def test_a_table_names_all_that_it_sums_up(tmp_path):
    paths = []
    for task in ("first", "second"):
        paths.append(str(tmp_path / f"{task}.parquet"))
        write_parquet(pd.DataFrame(), paths[-1], metadata=scored(tmp_path, task))
    printed = tmp_path / "bench_scores.csv"
    printed.write_text("model,value\n")
    origin = provenance.of_table(paths, [str(printed)], table="bias")
    assert origin["table"] == "bias"
    assert origin["published"] == {"bench_scores.csv": provenance.sha256(printed)}
    assert {name: part["model"]["seed"] for name, part in origin["scores"].items()} == {"m/first": 1, "m/second": 2}
    assert origin["data"] == {"raw.csv": "aa"}
    assert all("data" not in part for part in origin["scores"].values())


def test_a_table_of_printed_numbers_alone_has_no_scores(tmp_path):
    origin = provenance.of_table([], [])
    assert (origin["data"], origin["scores"], origin["published"]) == ({}, {}, {})


def test_the_version_is_unknown_without_a_checkout(tmp_path, monkeypatch):
    assert not provenance.workflow_version().startswith("unknown") or not (ROOT / ".git").exists()
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.workflow_version() == "unknown: no git checkout"
