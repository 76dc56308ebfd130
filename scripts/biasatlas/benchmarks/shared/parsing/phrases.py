"""The phrases of ``patterns/*.yaml``: a file a language, regular expressions by key; a line of one is joined to the next."""

import re
from functools import cache
from pathlib import Path

import yaml


@cache
def _tables() -> list[tuple[str, dict[str, str]]]:
    """For each language, how its phrases stand in a text, and their tables."""
    edges = {"en": "(?<![a-z0-9])(?:{})(?![a-z0-9])", "zh": "{}"}
    files = ((edge, Path(__file__).parent / "patterns" / f"{name}.yaml") for name, edge in edges.items())
    return [(edge, yaml.safe_load(path.read_text(encoding="utf-8").replace("\n  |", "|"))) for edge, path in files]


@cache
def pattern(expression: str) -> re.Pattern[str]:
    """``expression`` without regard to case; "{key}" stands for any phrase under that key, English ones as whole words."""

    def phrases(match: re.Match[str]) -> str:
        return "(?:" + "|".join(edge.format(table[match[1]]) for edge, table in _tables() if match[1] in table) + ")"

    return re.compile(re.sub(r"\{([a-z]\w+)\}", phrases, expression), re.I)


@cache
def words(key: str) -> tuple[str, ...]:
    """The phrases under ``key`` of all languages, as they are, the longest first."""
    return tuple(
        sorted("|".join(table[key] for _, table in _tables() if key in table).split("|"), key=len, reverse=True)
    )
