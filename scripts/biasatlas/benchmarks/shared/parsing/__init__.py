"""Parsers: what a reply answers. They are pure functions; docs/replies.md says in ten rules what counts as an answer.

A parser takes a reply and the :class:`~biasatlas.benchmarks.shared.parsing.options.Options` that were asked about,
and returns the index of an option, or

- :data:`AMBIGUOUS`: more than one answer ("A or B", "7-8", a letter with another option's text);
- :data:`REFUSED`: the reply declines, and gives no answer;
- :data:`UNPARSEABLE`: neither, also where a model is still thinking when its reply ends.

Phrases are data: regular expressions by key, one file per language (``patterns/*.yaml``); a line that begins with "|"
continues the one above it. Every repeat in a pattern is bounded and the text is capped, so that no reply takes long.
"""

import re
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

AMBIGUOUS: Literal["ambiguous"] = "ambiguous"
REFUSED: Literal["refused"] = "refused"
UNPARSEABLE: Literal["unparseable"] = "unparseable"

#: Why there is no label.
Silence = Literal["refused", "ambiguous", "unparseable"]
#: The index of a label, or why there is none.
Answer = int | Silence

#: Raise it when any reply is parsed differently: it is part of an answer's identity. A golden test says when.
VERSION = 30


@cache
def _tables() -> list[tuple[str, dict[str, str]]]:
    """For each language, what must surround a phrase in a text, and the phrases by key."""
    edges = {"en": "(?<![a-z0-9])(?:{})(?![a-z0-9])", "zh": "{}"}
    files = ((edge, Path(__file__).parent / "patterns" / f"{name}.yaml") for name, edge in edges.items())
    return [(edge, yaml.safe_load(path.read_text(encoding="utf-8").replace("\n  |", "|"))) for edge, path in files]


@cache
def pattern(expression: str) -> re.Pattern[str]:
    """``expression``, compiled to ignore case; "{key}" stands for the phrases under it, in English as whole words."""

    def phrases(match: re.Match[str]) -> str:
        return "(?:" + "|".join(edge.format(table[match[1]]) for edge, table in _tables() if match[1] in table) + ")"

    return re.compile(re.sub(r"\{([a-z]\w+)\}", phrases, expression), re.I)


@cache
def words(key: str) -> tuple[str, ...]:
    """The phrases under ``key`` of all languages, as they are, the longest first."""
    every = "|".join(table[key] for _, table in _tables() if key in table)
    return tuple(sorted(every.split("|"), key=len, reverse=True))
