"""Readers of replies: what a reply says. Pure functions, with their grammar in their docstrings.

A reader takes a reply and the labels. It returns the index of a label, or

- :data:`AMBIGUOUS`: more than one answer ("A or B", "7-8", "A. No, B."); a reader never picks one of them, but where a reply takes one back and
  gives another in so many words ("A. No, the answer is B.") that is its answer;
- :data:`REFUSED`: the reply declines, and gives no answer;
- :data:`UNPARSEABLE`: neither, also where a model is still thinking when its reply ends.

Whole replies are read to their end (:data:`REPLIES`). Exact probabilities cannot follow every text to its end: a reader of
choices (:data:`READERS`) is also the rule for when to stop. Of a text so far it says None while more text may change the reading,
and once a text has a reading, every longer text has the same one: a choice ends where its answer does, and begins with it
(:mod:`biasatlas.benchmarks.shared.readers.opening`). What comes later is in a whole reply alone.

All readers take English and Chinese in either script. They look at what a reply says after its thinking (think tags, also
without their beginning; Harmony's channels) and before another turn, without Markdown, HTML and LaTeX, in half-width forms
(:mod:`biasatlas.benchmarks.shared.readers.reply`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from biasatlas.benchmarks.shared.readers.grade import read_grade
from biasatlas.benchmarks.shared.readers.label import read_label
from biasatlas.benchmarks.shared.readers.letter import read_letter
from biasatlas.benchmarks.shared.readers.number import place, read_decimal, read_integer
from biasatlas.benchmarks.shared.readers.opening import open_label, open_number
from biasatlas.benchmarks.shared.readers.outcomes import AMBIGUOUS, REFUSED, UNPARSEABLE, Reading
from biasatlas.benchmarks.shared.readers.ranking import read_ranking
from biasatlas.benchmarks.shared.readers.refusal import read_refusal
from biasatlas.benchmarks.shared.readers.strict import open_strict_choice, read_strict_choice

__all__ = [
    "AMBIGUOUS",
    "READERS",
    "REFUSED",
    "REPLIES",
    "UNPARSEABLE",
    "VERSION",
    "Choice",
    "Reader",
    "Reading",
    "ReplyReader",
    "whole_reading",
]

#: Reads a whole reply: its text and the labels.
ReplyReader = Callable[[str, Sequence[str]], Reading]
#: Reads a choice: the text so far, the labels, and whether the text is whole.
Reader = Callable[[str, Sequence[str], bool], Reading | None]


#: Raise it when a reader reads any reply otherwise: it is part of what identifies an answer. A golden test says when.
VERSION = 16


@dataclass(frozen=True)
class Choice:
    """A reader of choices: what ``opening`` finds, and of a whole text in which that finds nothing yet, what ``whole`` does."""

    whole: ReplyReader
    opening: Callable[[str, Sequence[str]], Reading | None]

    def __call__(self, text: str, labels: Sequence[str], complete: bool) -> Reading | None:
        found = self.opening(text, labels)
        return self.whole(text, labels) if complete and found is None else found


def whole_reading(reader: Reader, text: str, labels: Sequence[str]) -> Reading:
    """What a reader of choices finds in a reply of which all is known."""
    found = reader.whole(text, labels) if isinstance(reader, Choice) else reader(text, labels, True)
    if found is None:
        raise ValueError(f"a whole reply has no reading: {text!r}")
    return found


def _open_number(text: str, labels: Sequence[str], nearest: bool) -> Reading | None:
    values = [Decimal(label) for label in labels]
    return open_number(text, max(values), lambda value: place(value, values, nearest))


#: Readers of whole replies by name.
REPLIES: dict[str, ReplyReader] = {
    "letter": read_letter,
    "label": read_label,
    "integer": read_integer,
    "decimal": read_decimal,
    "grade": read_grade,
    "ranking": read_ranking,
    "strict_choice": read_strict_choice,
    "refusal": read_refusal,
}

#: Readers of choices by the name that a request gives.
READERS: dict[str, Reader] = {
    "letter": Choice(read_letter, partial(open_label, letters=True)),
    "label": Choice(read_label, partial(open_label, letters=False)),
    "integer": Choice(read_integer, partial(_open_number, nearest=False)),
    "decimal": Choice(read_decimal, partial(_open_number, nearest=True)),
    "strict_choice": Choice(read_strict_choice, open_strict_choice),
}
