"""What sampled replies came to, by hand: counts, forms, groups, bounds, and another reader."""

import json

import pandas as pd
import pytest

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import replies as kit
from biasatlas.benchmarks.shared.readers import READERS
from biasatlas.files import read_csv, write_parquet
from biasatlas.workflow.replies import reread, summary

TEXTS = ["A", "A or B", "I'm sorry, I can't choose.", "Neither", "<think>A"]


def asked(count: int = 1) -> pd.DataFrame:
    rows = [
        {"request_id": f"r{i}", "item_id": f"i{i}", "reader": "letter", "labels": '["A", "B"]'} for i in range(count)
    ]
    return pd.DataFrame(rows).assign(kind="choice", order=json.dumps(["more", "less"]))


def chosen(said: list[list[list[str]]]) -> pd.DataFrame:
    rows = [{"request_id": f"r{i}", "status": "ok", "replies": json.dumps(texts)} for i, texts in enumerate(said)]
    return pd.DataFrame(rows)


def found(said: list[list[list[str]]], reader: str | None = None) -> pd.DataFrame:
    return kit.read(kit.sampled_replies(asked(len(said)), chosen(said)), READERS, reader)


ONE_OF_EACH = [[["ok", text] for text in TEXTS] + [["truncated", "Let me compare"], ["failed", ""]]]


def test_every_reply_comes_to_something():
    table = found(ONE_OF_EACH)
    assert table["outcome"].tolist() == ["ok", "ambiguous", "refused", "unparseable", "unparseable", "truncated"]
    assert kit.counts(table) == {
        "replies": 6, "ok": 1, "refused": 1, "ambiguous": 1, "unparseable": 2, "truncated": 1
    }  # fmt: skip
    forms = kit.unread(table).set_index("text")["form"]
    assert forms.to_dict() == {
        "A or B": "a few words",
        "I'm sorry, I can't choose.": "one line",
        "Neither": "a few words",
        "<think>A": "thinking only",
        "Let me compare": "a few words",
    }


def test_a_samples_text_and_a_generated_one_are_read_alike():
    said = pd.DataFrame({"request_id": ["r0"] * 2, "repeat": [0, 1], "status": ["ok", "refused"], "text": ["A", None]})
    table = kit.read(kit.sampled_replies(asked().assign(kind="generation"), said), READERS)
    assert table["outcome"].tolist() == ["ok", "refused"] and table["found"].tolist() == ["A", None]


def test_bounds_are_the_shares_if_every_unread_reply_said_so_or_none():
    bounds = kit.bounds(found([[["ok", "A"]] * 6 + [["ok", "B"]] * 2 + [["ok", "A/B"]] * 2]), pd.DataFrame())
    assert bounds.to_dict("records") == [
        {"answer": "more", "low": 60, "share": 75, "high": 80},
        {"answer": "less", "low": 20, "share": 25, "high": 40},
    ]


def test_groups_that_differ_in_what_was_read_are_told_from_those_that_do_not():
    items = pd.DataFrame({"item_id": [f"i{i}" for i in range(40)], "category": ["old", "young"] * 20})
    apart = kit.by_group(found([[["ok", "A/B" if i % 2 else "A"]] for i in range(40)]), items)
    assert apart["unread_percent"].tolist() == [0, 100] and (apart["p_value"] < 0.001).all()
    alike = kit.by_group(found([[["ok", "A/B" if i % 4 < 2 else "A"]] for i in range(40)]), items)
    assert alike["unread_percent"].tolist() == [50, 50] and (alike["p_value"] > 0.9).all()


@pytest.fixture
def run(tmp_path):
    """A run's files: one model, one task whose replies were sampled."""
    write_parquet(asked(), tmp_path / "requests/crows_pairs/recommended/pair_choice.parquet")
    responses = chosen(ONE_OF_EACH).assign(task="pair_choice")
    write_parquet(responses, tmp_path / "responses/m/crows_pairs/recommended.parquet")
    write_parquet(pd.DataFrame({"item_id": ["i0"], "category": ["age"]}), tmp_path / "items/crows_pairs.parquet")
    return tmp_path


def test_a_run_is_summed_up_and_read_again(run):
    text = summary(run, examples=10)
    assert "ambiguous, a few words: 1" in text and "'A or B'" in text
    table = read_csv(run / "replies/table.csv").iloc[0]
    assert (table["model"], table["task"], table["ok"], table["unparseable"]) == ("m", "pair_choice", 1, 2)
    assert len(read_csv(run / "replies/unread.csv")) == 5
    assert "2 of 6 replies" in reread(run, "strict_choice", examples=5)
    changes = read_csv(run / "replies/changes.csv")
    assert dict(zip(changes["text"], changes["now"], strict=True)) == dict.fromkeys(["A", "A or B"], "unparseable")


def test_every_benchmarks_readers_can_read_again():
    assert all(set(READERS) <= set(registry.readers(name)) for name in registry.benchmark_names())
