"""The parsers by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from biasatlas.benchmarks.shared.parsing import Answer, Parsed, Parser
from biasatlas.benchmarks.shared.parsing.choice import parse_choice
from biasatlas.benchmarks.shared.parsing.numbers import parse_number, parse_rank
from biasatlas.benchmarks.shared.parsing.opening import Opening, decided, open_choice, open_decimal, open_number
from biasatlas.benchmarks.shared.parsing.options import Options, as_options
from biasatlas.benchmarks.shared.parsing.ranking import parse_ranking
from biasatlas.benchmarks.shared.parsing.refusal import parse_refusal
from biasatlas.benchmarks.shared.parsing.strict import open_strict_choice, parse_strict_choice

#: Parses a whole reply, with its evidence.
Whole = Callable[[str, Options | Sequence[str]], Parsed]


@dataclass(frozen=True)
class Choice:
    """A parser of choices: what ``opening`` decides, and of a whole text in which that decides nothing, what
    ``whole`` finds."""

    whole: Whole
    opening: Opening

    def __call__(self, text: str, options: Options | Sequence[str], complete: bool) -> Answer | None:
        options = as_options(options)
        found = decided(self.opening, text, options)
        return self.whole(text, options).answer if complete and found is None else found


def whole_answer(parser: Parser, text: str, options: Options | Sequence[str]) -> Answer:
    """What a parser of choices finds in a reply of which all is known."""
    found = parser.whole(text, options).answer if isinstance(parser, Choice) else parser(text, options, True)
    if found is None:
        raise ValueError(f"a whole reply has no answer: {text!r}")
    return found


#: Parsers of whole replies by name.
REPLIES: dict[str, Whole] = {
    "letter": parse_choice,
    "label": parse_choice,
    "integer": parse_number,
    "rank": parse_rank,
    "decimal": partial(parse_number, nearest=True),
    "grade": partial(parse_number, nearest=True),
    "ranking": parse_ranking,
    "strict_choice": parse_strict_choice,
    "refusal": parse_refusal,
}

#: Parsers of choices by the name that a request gives.
PARSERS: dict[str, Parser] = {
    "letter": Choice(parse_choice, open_choice),
    "label": Choice(parse_choice, open_choice),
    "integer": Choice(parse_number, open_number),
    "rank": Choice(parse_rank, lambda text, options: None),  # "1" may become "10", "1st" or "1. Anna"
    "decimal": Choice(REPLIES["decimal"], open_decimal),
    "strict_choice": Choice(parse_strict_choice, open_strict_choice),
}
