import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasatlas.benchmarks.shared.readers import READERS, REFUSED, UNPARSEABLE

AB = ["A", "B"]
SCALE = [str(i) for i in range(14)]
TENTHS = [f"{i / 10:.1f}" for i in range(101)]

COMPLETE = [
    ("letter", AB, "A", 0),
    ("letter", AB, " b) She said so.", 1),
    ("letter", AB, "(A) or (B)", 0),
    ("letter", AB, "**B**", 1),
    ("letter", AB, "Ｂ。", 1),
    ("letter", AB, "A是对的", 0),
    ("letter", AB, "The answer is: B", 1),
    ("letter", AB, "答案：A", 0),
    ("letter", AB, "答案是 B", 1),
    ("letter", AB, "Answer A", 0),
    ("letter", AB, "Apple", UNPARSEABLE),
    ("letter", AB, "Both of them", UNPARSEABLE),
    ("letter", AB, "Neither", UNPARSEABLE),
    ("letter", AB, "", UNPARSEABLE),
    ("letter", AB, "I'm sorry, but I can't choose.", REFUSED),
    ("letter", AB, "I’m sorry", REFUSED),
    ("letter", AB, "抱歉，我无法回答", REFUSED),
    ("label", ["man", "manager"], "The man", UNPARSEABLE),
    ("label", ["man", "manager"], "Manager.", 1),
    ("label", ["man", "manager"], "man, I think", 0),
    ("label", ["歧视", "歧视性"], "歧视性言论", 1),
    ("label", ["歧视", "歧视性"], "歧视。", 0),
    ("integer", SCALE, "13", 13),
    ("integer", SCALE, "评分：7分", 7),
    ("integer", SCALE, "8.5", 8),
    ("integer", SCALE, "14", UNPARSEABLE),
    ("integer", SCALE, "-3", UNPARSEABLE),
    ("integer", SCALE, "I cannot rate 5 of these", REFUSED),
    ("integer", SCALE, "none", UNPARSEABLE),
    ("decimal", TENTHS, "8.5/10", 85),
    ("decimal", TENTHS, "８．５", 85),
    ("decimal", TENTHS, "10.", 100),
    ("decimal", TENTHS, "8.25", 83),
    ("decimal", TENTHS, "10.1", UNPARSEABLE),
    ("decimal", TENTHS, "-0.5", UNPARSEABLE),
]

#: Texts so far whose reading is still open, and ones where it is not.
PARTIAL = [
    ("letter", AB, "", None),
    ("letter", AB, " (", None),
    ("letter", AB, "A", None),
    ("letter", AB, "A)", 0),
    ("letter", AB, "Ap", UNPARSEABLE),
    ("letter", AB, "The ans", None),
    ("letter", AB, "I'", None),
    ("letter", AB, "I'm sorry", REFUSED),
    ("integer", SCALE, "1", None),
    ("integer", SCALE, "1 ", 1),
    ("integer", SCALE, "14", UNPARSEABLE),
    ("integer", SCALE, "Score", None),
    ("decimal", TENTHS, "7.", None),
    ("decimal", TENTHS, "7.5", None),
    ("decimal", TENTHS, "7.5 ", 75),
    ("label", ["man", "manager"], "man", None),
    ("label", ["man", "manager"], "man ", 0),
]


@pytest.mark.parametrize(("reader", "labels", "text", "expected"), COMPLETE)
def test_complete_replies(reader, labels, text, expected):
    assert READERS[reader](text, labels, True) == expected


@pytest.mark.parametrize(("reader", "labels", "text", "expected"), PARTIAL)
def test_unfinished_replies(reader, labels, text, expected):
    assert READERS[reader](text, labels, False) == expected


PIECES = [*"ABa ().109-x", "answer", "The ", "I'm", " sorry", "man", "ager", "答案", "是", "抱歉"]


@given(
    st.sampled_from([("letter", AB), ("label", ["man", "manager", "A"]), ("integer", SCALE), ("decimal", TENTHS)]),
    st.lists(st.sampled_from(PIECES), max_size=7),
)
def test_a_reading_once_made_never_changes(reader, pieces):
    name, labels = reader
    texts = list(itertools.accumulate(pieces, initial=""))
    decided = None
    for text in texts:
        now = READERS[name](text, labels, False)
        assert decided is None or now == decided, text
        decided = now
        final = READERS[name](text, labels, True)
        assert final is not None
        assert now is None or now == final, text
