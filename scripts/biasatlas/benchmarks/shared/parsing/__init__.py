"""The parser: what a reply answers. Pure functions; docs/replies.md says in ten lines what counts as an answer.

A parser takes a reply and the :class:`~biasatlas.benchmarks.shared.parsing.options.Options` that were asked about,
and returns the index of an option, or

- :data:`AMBIGUOUS`: more than one answer ("A or B", "7-8", a letter with another option's text);
- :data:`REFUSED`: the reply declines, and gives no answer;
- :data:`UNPARSEABLE`: neither, also where a model is still thinking when its reply ends.

Phrases are data (``patterns/*.yaml``), a table a language. Every repeat in a pattern is bounded and the text is
capped, so a reply of any length is parsed in time that does not grow with it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from biasatlas.benchmarks.shared.parsing.options import Options

AMBIGUOUS: Literal["ambiguous"] = "ambiguous"
REFUSED: Literal["refused"] = "refused"
UNPARSEABLE: Literal["unparseable"] = "unparseable"

#: Why there is no label.
Silence = Literal["refused", "ambiguous", "unparseable"]
#: The index of a label, or why there is none.
Answer = int | Silence


class Parsed(NamedTuple):
    """The answer of a reply, and by what it was found: "mark", "whole", "announced", "head", "content", "mention"
    ..."""

    answer: Answer
    evidence: str


class Parser(Protocol):
    """Parses a whole reply (``complete``), or a text so far: None while more text may change its answer."""

    def __call__(self, text: str, options: "Options | Sequence[str]", complete: bool) -> Answer | None: ...


#: Raise it when any reply is parsed otherwise: it is part of what identifies an answer. A golden test says when.
VERSION = 26
