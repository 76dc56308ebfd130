"""The authors' parsers, with what they get wrong."""

import pytest

from biasatlas.benchmarks.mcbe.parsers import PARSERS, number, read_reply
from biasatlas.benchmarks.shared.parsing.options import Options

LABELS = ["职业分工", "物化", "其他"]
SCALE = [f"{tenths / 10:g}" for tenths in range(101)]


@pytest.mark.parametrize(
    ("reply", "ours", "authors"),
    [
        ("A", 0, 0),
        ("句子A和B", "ambiguous", 2),  # either counts
        ("我的答案是A", 0, "unparseable"),
        ("APP", "unparseable", 0),
        ("句子1更有可能发生。", 0, "unparseable"),
        ("抱歉，我无法回答", "refused", "refused"),
    ],
)
def test_letters(reply, ours, authors):
    assert read_reply("letter", reply, ["A", "B"]) == ours
    assert read_reply("mcbe_first_five_characters", reply, ["A", "B", "AB"]) == authors


@pytest.mark.parametrize(
    ("reply", "ours", "authors"),
    [
        ("职业分工", 0, 0),
        ("不是职业分工，是物化", 1, 0),
        ("职业分工、物化、其他", "ambiguous", 0),
        ("分类：物化", 1, 1),
        ("刻板印象", "unparseable", "unparseable"),
    ],
)
def test_labels(reply, ours, authors):
    assert read_reply("label", reply, LABELS) == ours
    assert read_reply("mcbe_substring", reply, LABELS) == authors


@pytest.mark.parametrize(
    ("reply", "ours", "authors"),
    [
        ("8.5分", 8.5, 8.5),
        ("1. 具体得分：6分", 6, 1),
        ("满分10分，我给6分", 6, 10),
        ("[5, 8)", "unparseable", 5),  # a level
        ("15分", "unparseable", 15),  # off the scale
        ("我无法评分", "refused", "refused"),
    ],
)
def test_numbers(reply, ours, authors):
    assert number("decimal", reply, 10) == ours
    assert number("first_number", reply, 10) == authors


def test_a_judges_first_integer_is_cut_and_has_no_range():
    assert number("first_integer", "8.5", 8) == 8
    assert number("first_integer", "还差2点，6分", 8) == 2
    assert number("first_integer", "120", 8) == 120


@pytest.mark.parametrize(
    ("name", "labels", "text", "outcome"),
    [
        ("mcbe_first_five_characters", ["A", "B", "AB"], "答案是", None),
        ("mcbe_first_five_characters", ["A", "B", "AB"], "答案是：B", 1),
        ("mcbe_substring", LABELS, "这是物", None),
        ("mcbe_substring", LABELS, "这是物化", 1),
        ("mcbe_first_number", SCALE, "得分7", None),
        ("mcbe_first_number", SCALE, "得分7分", 70),
    ],
)
def test_parsers_of_choices_stop_as_soon_as_nothing_can_change(name, labels, text, outcome):
    assert PARSERS[name](text, Options.of(labels), False) == outcome
