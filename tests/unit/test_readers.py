"""Readers against replies with their truth (tests/replies), and as the rule for when a choice is made."""

import hashlib
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replies.corpus import FOLDER, SEALED, reading, rows

from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.named import PARSERS, REPLIES
from biasatlas.benchmarks.shared.parsing.normalise import answer_part, plain

AB = ["A", "B"]
SCALE = [str(i) for i in range(14)]
TENTHS = [f"{i / 10:.1f}" for i in range(101)]
SILENT = {AMBIGUOUS, UNPARSEABLE}

#: Texts so far whose reading is still open, and ones where it is not.
PARTIAL = [
    ("letter", AB, "", None),
    ("letter", AB, " (", None),
    ("letter", AB, "A", None),
    ("letter", AB, "A)", None),  # "A) or B)"
    ("letter", AB, "A) ", None),
    ("letter", AB, "A) The", 0),
    ("letter", AB, "A\n", 0),
    ("letter", AB, "A or", None),
    ("letter", AB, "A or B", None),  # "A or Bob"
    ("letter", AB, "A or B.", AMBIGUOUS),
    ("letter", AB, "A or nothing", 0),
    ("letter", AB, "A/B", None),  # "A/Bernard"
    ("letter", AB, "A/B ", AMBIGUOUS),
    ("letter", AB, "A man ", UNPARSEABLE),
    ("letter", AB, "A is", None),
    ("letter", AB, "A is wrong.", UNPARSEABLE),
    ("letter", AB, "A is more ", 0),
    ("letter", AB, "Ap", UNPARSEABLE),
    ("letter", AB, "The ans", None),
    ("letter", AB, "The answer is B.", None),
    ("letter", AB, "The answer is B. It", 1),
    ("letter", AB, "<think>A", None),
    ("letter", AB, "I'", None),
    ("letter", AB, "I'm sorry", REFUSED),
    ("letter", AB, "Ａ，因", 0),
    ("letter", AB, "A和", None),
    ("letter", AB, "A和B", None),
    ("letter", AB, "A和B都", AMBIGUOUS),
    ("letter", AB, "A股", UNPARSEABLE),
    ("integer", SCALE, "1", None),
    ("integer", SCALE, "1 ", None),
    ("integer", SCALE, "1\n", 1),
    ("integer", SCALE, "1 or 2", AMBIGUOUS),
    ("integer", SCALE, "14", UNPARSEABLE),
    ("integer", SCALE, "Score", None),
    ("integer", SCALE, "1. 得分：7分。", 7),
    ("integer", SCALE, "7个", UNPARSEABLE),
    ("decimal", TENTHS, "7.", None),
    ("decimal", TENTHS, "7.5", None),
    ("decimal", TENTHS, "7.5分", None),
    ("decimal", TENTHS, "7.5分。", 75),
    ("decimal", TENTHS, "7/1", None),
    ("decimal", TENTHS, "7/10,", 70),
    ("decimal", TENTHS, "3/5,", UNPARSEABLE),
    ("decimal", TENTHS, "5-6", AMBIGUOUS),
    ("label", ["man", "manager"], "man", None),
    ("label", ["man", "manager"], "man, ", None),
    ("label", ["man", "manager"], "man, I", 0),
    ("label", ["man", "manager"], "man, manager ", AMBIGUOUS),
    ("strict_choice", AB, "a) T", None),
    ("strict_choice", AB, "a) The ", 0),
    ("strict_choice", AB, "a) or ", None),
    ("strict_choice", AB, "A) The", UNPARSEABLE),
]


@pytest.mark.parametrize("name", SEALED)
def test_what_is_sealed_is_as_it_was_written(name):
    sealed = hashlib.sha256((FOLDER / f"{name}.jsonl").read_bytes()).hexdigest()
    assert sealed == SEALED[name], "what is sealed is for the report alone: put new replies into development.jsonl"


def test_no_reply_is_in_both_halves():
    seen = {(row["reader"], tuple(row["labels"]), row["text"].strip()) for half in SEALED for row in rows(half)}
    both = [row for row in rows("development") if (row["reader"], tuple(row["labels"]), row["text"].strip()) in seen]
    assert not both
    assert len(seen) > 800


@pytest.mark.parametrize("reader", REPLIES)
def test_replies_are_read_as_two_careful_people_would(reader):
    """A label exactly; what gives none, as refused or not. Whether it is ambiguous or no answer is no more than a hint."""
    wrong = []
    for row in rows("development"):
        if row["reader"] == reader and (found := reading(row, REPLIES[reader])) != row["truth"]:
            wrong += [] if {found, row["truth"]} <= SILENT else [(row["text"], row["truth"], found)]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "<think>A</think>",
        "<think>A or B",
        "A</think>",
        "<|channel|>analysis<|message|>A",
        "analysisWe take A",
        "<|im_end|>A",
    ],
)
def test_what_is_no_part_of_an_answer_is_not_read(text):
    assert answer_part(text) == ""


def test_markup_is_no_part_of_a_text():
    assert plain("**Ａ**：$\\boxed{\\text{B}}$ `C` ~~D~~") == "A: answer: B  C"


@pytest.mark.parametrize(("reader", "labels", "text", "expected"), PARTIAL)
def test_unfinished_replies(reader, labels, text, expected):
    assert PARSERS[reader](text, labels, False) == expected


PIECES = [
    *"ABa ().109-x/\n",
    "answer",
    "The ",
    "I'm",
    " sorry",
    "man",
    "ager",
    "答案",
    "是",
    "抱歉",
    " or ",
    "和",
    "分",
]


def check_prefixes(reader, labels, texts):
    """A reading once made never changes while a text grows, nor when it ends."""
    decided = None
    for text in texts:
        now = PARSERS[reader](text, labels, False)
        assert decided is None or now == decided, text
        decided = now
        final = PARSERS[reader](text, labels, True)
        assert final is not None
        assert now in (None, final), text


@given(
    st.sampled_from([("letter", AB), ("label", ["man", "manager", "A"]), ("integer", SCALE), ("decimal", TENTHS)])
    | st.just(("strict_choice", AB)),
    st.lists(st.sampled_from(PIECES), max_size=7),
)
def test_a_reading_once_made_never_changes(reader, pieces):
    check_prefixes(*reader, itertools.accumulate(pieces, initial=""))


def test_nor_does_it_in_replies():
    for row in rows("development")[::6]:
        if row["reader"] in PARSERS:
            check_prefixes(row["reader"], row["labels"], (row["text"][:end] for end in range(len(row["text"]) + 1)))


@pytest.mark.parametrize("piece", ["1", "\n", "A,", "{", "<think>", "I can't ", "得分 ", "answer is ", " ", "$"])
def test_endless_replies_are_read_in_time(piece):
    """Models without an end of turn write one thing until they are stopped; no expression may take the square of it."""
    started = time.perf_counter()
    for reader, labels in (("letter", AB), ("label", AB), ("decimal", TENTHS), ("grade", SCALE), ("refusal", ["said"])):
        REPLIES[reader](piece * (8_000 // len(piece)), labels)
    assert time.perf_counter() - started < 20  # a tenth of a second each on an idle core; minutes where it is squared
