"""The tables of phrases: ``patterns/*.yaml``, regular expressions by language; a line that is indented more goes on
the one above."""

import re
from functools import cache
from pathlib import Path

import yaml

from biasatlas.benchmarks.shared.parsing import VERSION

_FOLDER = Path(__file__).parent / "patterns"


@cache
def _table(name: str, version: int = VERSION) -> dict[str, dict[str, str]]:
    """Of each key of a table and each language the phrases, as one expression; ``version`` stands for what they are."""
    read = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return {
        key: {
            language: re.sub(r"\n {2,}", "", phrases.strip()).replace("\n", "|")
            for language, phrases in languages.items()
        }
        for key, languages in read.items()
    }


@cache
def either(table: str, key: str) -> str:
    """The phrases under ``key`` of a table as one group; English ones are whole words."""
    phrases = _table(table)[key]
    english = [rf"(?<![a-z0-9])(?:{phrases['en']})(?![a-z0-9])"] if "en" in phrases else []
    return "(?:" + "|".join([*english, *(phrases[language] for language in phrases if language != "en")]) + ")"


@cache
def finds(table: str, key: str) -> re.Pattern[str]:
    """A pattern that finds any phrase under ``key``."""
    return re.compile(either(table, key), re.I)


@cache
def words(table: str, key: str) -> frozenset[str]:
    """The phrases under ``key`` of all languages, as they are."""
    return frozenset("|".join(_table(table)[key].values()).split("|"))
