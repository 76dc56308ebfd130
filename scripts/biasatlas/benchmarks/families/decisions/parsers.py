"""How a place in a ranking is parsed, beside the parsers that all benchmarks share."""

import re

from biasatlas.benchmarks.families.contexts.parsers import PARSERS as BY_BEGINNING
from biasatlas.benchmarks.shared.parsing import Answer
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.numbers import parse_number
from biasatlas.benchmarks.shared.parsing.options import Options

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def parse_rank(text: str, options: Options) -> Answer:
    """:func:`parse_number` of a place in a ranking, as "3", "#3" or "3rd", or, where there is no digit, "third"."""
    text = re.sub(r"#(?=\d)|(?<=\d)(?:st|nd|rd|th)\b", "", text, flags=re.I)
    if not re.search(r"\d", text):
        names = rf"\b(?:{'|'.join(_ORDINALS)})\b"
        text = re.sub(names, lambda word: str(_ORDINALS.index(word[0].lower()) + 1), text, flags=re.I)
    return parse_number(text, options)


def open_rank(text: str, options: Options) -> None:
    """No beginning decides: "1" may become "10", "1st" or "1. Anna"."""


PARSERS: dict[str, Parser] = {"rank": Parser(parse_rank, open_rank), **BY_BEGINNING}
