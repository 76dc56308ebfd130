"""A second parse by a model: which replies it is asked about, what it may say, and how far it agrees."""

import json

import numpy as np
import pandas as pd
import pytest

from biasatlas.benchmarks.shared import second_parse
from biasatlas.benchmarks.shared.parsing.named import PARSERS


def replies(*rows):
    columns = ["request_id", "item_id", "repeat", "outcome", "text", "found", "parser"]
    frame = pd.DataFrame([(f"r{i}", f"i{i}", 0, *row) for i, row in enumerate(rows)], columns=columns)
    frame["labels"] = [["A", "B"]] * len(rows)
    frame["options"] = json.dumps(["the boy", "the girl"])
    return frame.assign(model="m", task="t")


GIVEN = replies(
    ("ok", "B", "B", "letter"),
    ("unparseable", "The lad.", None, "letter"),
    ("ambiguous", "Both?", None, "letter"),
    ("refused", "I decline.", None, "letter"),
    ("unparseable", "<think>still", None, "letter"),
    ("failed", None, None, "letter"),
)


def test_what_could_not_be_parsed_is_parsed_again_and_a_sample_of_the_rest():
    assert list(second_parse.parsed_again(GIVEN)["text"]) == ["B", "The lad.", "Both?"]
    many = pd.concat([GIVEN.iloc[[0]]] * 500, ignore_index=True)
    many["request_id"] = [f"r{i}" for i in range(500)]
    drawn = second_parse.parsed_again(many)
    assert len(drawn) == second_parse.SAMPLE
    assert set(drawn["asked"]) == set(second_parse.parsed_again(many.iloc[::-1])["asked"])


def test_the_question_shows_the_options_and_the_reply():
    again = second_parse.parsed_again(GIVEN)
    (message,) = json.loads(second_parse.build_requests(again)["messages"].iloc[1])
    assert "- A: the boy\n- B: the girl\n" in message["content"]
    assert "The lad." in message["content"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("A", "A"),
        ("B: the girl", "B"),
        ("`refused`", "refused"),
        ("Ambiguous.", "ambiguous"),
        ("<think>A?</think>\nB", "B"),
        ("I do not know what you mean", None),
        (None, "failed"),
    ],
)
def test_what_the_model_says_is_a_label_or_a_status(said, expected):
    again = second_parse.parsed_again(GIVEN).iloc[[1]]
    answered = pd.DataFrame({"request_id": again["asked"], "text": [said]})
    assert second_parse.second_parse(again, answered, PARSERS).tolist() == [expected]


def test_agreement_is_over_parsed_replies_and_the_rate_over_the_others():
    again = second_parse.parsed_again(GIVEN).assign(second_parse=["A", "A", "ambiguous"])
    rows = {row["metric"]: row for row in second_parse.agreement_rows({"model": "m"}, again)}
    assert (rows["second_parse_agreement"]["value"], rows["second_parse_agreement"]["n"]) == (0, 1)
    assert (rows["second_parse_rate"]["value"], rows["second_parse_rate"]["n"]) == (50, 2)
    assert rows["second_parse_kappa"]["value"] == 0
    assert "agrees with the parser on 0.0% of 1" in second_parse.agreement("m", "t", "other", list(rows.values()))
    more = pd.concat([again, again.assign(second_parse="failed")], ignore_index=True)  # calls that failed say nothing
    assert [row["value"] for row in second_parse.agreement_rows({"model": "m"}, more)] == [0, 50, 0]
    assert second_parse.agreement_rows({"model": "m"}, again.assign(second_parse="failed")) == []


@pytest.mark.parametrize(
    ("found", "second", "kappa"),
    [
        ("ABABAB", "ABABAB", 1),
        ("ABABAB", "AAAAAA", 0),  # a model that always says one letter
        ("AAABBBBBBB", "AAABBBBBBA", 0.7826),  # .9 agree, .54 by chance
        ("AAAA", "AAAA", None),
    ],
)
def test_kappa_is_agreement_beyond_chance(found, second, kappa):
    again = replies(*[("ok", letter, letter, "letter") for letter in found]).assign(second_parse=[*second])
    rows = second_parse.agreement_rows({"model": "m"}, again)
    (row,) = [row for row in rows if row["metric"] == "second_parse_kappa"]
    assert row["value"] == pytest.approx(np.nan if kappa is None else kappa, abs=1e-4, nan_ok=True)
    assert bool(row["reason"]) == (kappa is None)
    assert ("no kappa: both give every reply the same answer" in second_parse.agreement("m", "t", "o", rows)) == (
        kappa is None
    )


def test_it_is_offered_above_five_percent():
    assert "`benchmarks.mine.parse_with`" in second_parse.offer("mine", "m", "t", GIVEN)
    assert second_parse.offer("mine", "m", "t", GIVEN.iloc[[0] * 50 + [1]]) == ""
