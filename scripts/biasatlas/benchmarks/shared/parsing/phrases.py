"""The phrases of ``patterns/*.yaml``: a file a language, regular expressions by key; a line of one is joined to the next."""

import re
from functools import cache
from pathlib import Path

import yaml


@cache
def _phrases(key: str) -> dict[str, str]:
    """The phrases under ``key``, as one expression for each language that has them."""
    folder = Path(__file__).parent / "patterns"
    tables = {name: yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8")) for name in ("en", "zh")}
    return {name: table[key].replace(" |", "|") for name, table in tables.items() if key in table}


@cache
def either(key: str) -> str:
    """The phrases under ``key`` as one group; English ones are whole words."""
    edged = {"en": "(?<![a-z0-9])(?:{})(?![a-z0-9])", "zh": "{}"}
    return "(?:" + "|".join(edged[name].format(phrases) for name, phrases in _phrases(key).items()) + ")"


@cache
def finds(key: str) -> re.Pattern[str]:
    """A pattern that finds any phrase under ``key``."""
    return re.compile(either(key), re.I)


@cache
def words(key: str) -> tuple[str, ...]:
    """The phrases under ``key`` of all languages, as they are, the longest first."""
    return tuple(sorted({*"|".join(_phrases(key).values()).split("|")}, key=len, reverse=True))
