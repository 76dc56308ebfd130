"""The readers by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from biasatlas.benchmarks.shared.readers import Reader, Reading, ReplyReader
from biasatlas.benchmarks.shared.readers.grade import read_grade
from biasatlas.benchmarks.shared.readers.label import read_label
from biasatlas.benchmarks.shared.readers.letter import read_letter
from biasatlas.benchmarks.shared.readers.number import place, read_decimal, read_integer
from biasatlas.benchmarks.shared.readers.opening import open_label, open_number
from biasatlas.benchmarks.shared.readers.ranking import read_ranking
from biasatlas.benchmarks.shared.readers.refusal import read_refusal
from biasatlas.benchmarks.shared.readers.strict import open_strict_choice, read_strict_choice


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
