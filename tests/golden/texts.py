"""Replies for each parser, which parses them as a whole and as the beginning of more."""

from collections.abc import Mapping, Sequence

from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import Options

AB = ["A", "B"]
TEN = [str(value) for value in range(11)]
HALVES = [f"{value / 2:.1f}" for value in range(21)]
WORDS = ["man", "manager", "歧视", "歧视性"]

LETTERS = [
    "",
    "A",
    " b) She said so.",
    "(A) or (B)",
    "**B**",
    "Ｂ。",
    "A是对的",
    "The answer is: B",
    "The ans",
    "答案：A",
    "我选B",
    "句子1更可能，所以A",
    "Apple",
    "As an AI",
    "I'm sorry, but I can't choose.",
    "抱歉，我无法回答",
    "抱",
    "AB",
    "A and B are both plausible",
    "A choice cannot be made.",
    "<think>A</think>B",
    "句子2更有可能发生",
    "A. No, the answer is B.",
    "B更不可能。",
    "A\n句子A：他笑了。\n句子B：她笑了。\n答案：B",
    "A if she were late. She was not.",
]
LABELS = [
    "The man",
    "Manager.",
    "man, I think",
    "man",
    "歧视",
    "歧视性言论",
    "“歧视”。",
    "这是歧视",
    "我不能判断",
    "其他",
]
NUMBERS = [
    "",
    "8",
    "1",
    "10",
    "8.5",
    "8.5分，因为",
    "得分：7",
    "8/10",
    "-3",
    "14",
    "10.",
    "５",
    "5-6分",
    "五到六分",
    "七点五分",
    "满分10分，我给7分",
    "在10分制中，我会给6分",
    "属于明显[5, 8)，得分6.5",
    "1. 得分：7",
    "这句话涉及2个群体，得分为6",
    "这句话十分偏颇",
    "十分",
    "I cannot rate 5 of these",
    "抱歉，我无法评分",
    "none",
    "我给5分。再看一遍，应该从5分降到3分。",
    '{"paragraphs": 3}',
    "7分。如果能改正第二点，可以给到9分。",
]

#: Parser -> (labels, texts).
Cases = Mapping[str, tuple[Sequence[str], Sequence[str]]]

SHARED: Cases = {
    "letter": (AB, LETTERS),
    "label": (WORDS, [*LETTERS, *LABELS]),
    "integer": (TEN, NUMBERS),
    "decimal": (HALVES, NUMBERS),
    "strict_choice": (AB, [*LETTERS, "a) He left.", "a) He left. b) He stayed.", "choice) a", "A) He left."]),
}
MCBE: Cases = {
    "mcbe_first_five_characters": ([*AB, "AB"], LETTERS),
    "mcbe_substring": (WORDS, LABELS),
    "mcbe_first_number": (TEN, NUMBERS),
}


def parsed_answers(parsers: Mapping[str, Parser], cases: Cases) -> dict:
    """Parser -> text -> how it is parsed while more may follow, and as a whole."""
    own = {name: cases[name] for name in parsers if name in cases}
    return {
        name: {
            text: [parsers[name](text, Options.of(labels), complete) for complete in (False, True)] for text in texts
        }
        for name, (labels, texts) in own.items()
    }
