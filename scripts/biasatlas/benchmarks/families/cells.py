"""Columns of text made from other columns of text, all rows at once, as a description's rules say."""

import ast
import json
import re
from collections.abc import Callable, Mapping
from functools import cache, reduce
from operator import add
from typing import Any

import pandas as pd

from biasatlas.benchmarks.families.derived import Derived, split_template
from biasatlas.errors import UserError
from biasatlas.userfiles import shown

#: Where a row of the data stands, for messages: a column beside those of the data.
WHERE = "where"
_OPTIONS = ("0", "1", "2")


def render(text: str, raw: pd.DataFrame) -> pd.Series:
    """``text`` with its fields filled from the columns of ``raw``, all rows at once."""
    pieces = split_template(text)
    if len(pieces) == 1:
        return pd.Series(text, raw.index, dtype=object)
    return reduce(add, (raw[piece] if place % 2 else piece for place, piece in enumerate(pieces)))


def check(raw: pd.DataFrame, good: pd.Series, column: str, expected: str) -> None:
    """Raise UserError naming file, line and value for the first row of ``raw`` that is not ``good``."""
    if not good.all():
        row = raw.loc[~good.to_numpy()].iloc[0]
        raise UserError(f"{row[WHERE]}: {column} is {shown(row[column])}. Expected {expected}.")


def derive(raw: pd.DataFrame, rules: Mapping[str, Derived]) -> pd.DataFrame:
    """``raw`` with a column for each of ``rules``. Raises UserError with row, column, cell where one does not fit."""
    for name, rule in rules.items():
        made = next(make for key, make in _RULES.items() if getattr(rule, key) is not None)(name, rule, raw)
        raw = raw.assign(**{name: made})
    return raw


@cache
def literal(cell: str) -> Any:
    """What a cell holds: the list or object that it writes as Python or JSON does, or else its text."""
    if cell.lstrip()[:1] in ("[", "{", "("):
        for parse in (ast.literal_eval, json.loads):
            try:
                return parse(cell)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return cell


def _text(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    return render(rule.text or "", raw)


def _match(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    of = render(rule.of or "", raw)
    found = of.str.extract(rule.match or "", expand=False)
    return _with_others(name, rule, raw, of, found, f"what fits {rule.match}")


def _map(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    of, found = render(rule.of or "", raw), pd.Series(None, raw.index, dtype=object)
    for value, text in (rule.map or {}).items():
        found = found.where(of != value, render(text, raw))
    return _with_others(name, rule, raw, of, found, f"one of {', '.join(rule.map or ())}")


def _with_others(
    name: str, rule: Derived, raw: pd.DataFrame, of: pd.Series, found: pd.Series, expected: str
) -> pd.Series:
    """``found``, and ``otherwise`` where nothing was."""
    if rule.otherwise is not None:
        return found.where(found.notna(), render(rule.otherwise, raw))
    what = f"{name}: {rule.of}"
    check(raw.assign(**{what: of}), found.notna(), what, expected)
    return found


def _substitute(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    """Longer words first, so that one within another is left alone."""
    of, words = render(rule.of or "", raw), rule.substitute or {}
    filled = {word: render(text, raw).tolist() for word, text in words.items()}
    any_word = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    made = [
        "".join(filled[part][row] if part in filled else part for part in re.split(f"({any_word})", text))
        for row, text in enumerate(of)
    ]
    return pd.Series(made, raw.index, dtype=object)


def _below(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    of = render(rule.of or "", raw)
    numbers = pd.to_numeric(of, errors="coerce")
    what = f"{name}: {rule.of}"
    check(raw.assign(**{what: of}), numbers.notna(), what, "a number")
    return render(rule.then or "", raw).where(numbers < rule.below, render(rule.otherwise or "", raw))


def _option(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    """The number of the one option whose label, or its part after a comma, is wanted; empty for none or several."""
    also = {key.casefold(): {each.casefold() for each in others} for key, others in (rule.also or {}).items()}

    @cache
    def wanted(cell: str) -> frozenset[str]:
        value = literal(cell)
        names = {str(each).strip().casefold() for each in (value if isinstance(value, list | tuple) else [value])}
        return frozenset(names.union(*(also.get(each, ()) for each in names)))

    @cache
    def parts(label: str) -> frozenset[str]:
        return frozenset((label.strip().casefold(), *(part.strip().casefold() for part in label.split(","))))

    columns = [raw[label] for label in rule.labels or ()]
    found = []
    for cell, *labels in zip(render(rule.option or "", raw), *columns, strict=True):
        places = [place for place, label in zip(_OPTIONS, labels, strict=True) if wanted(cell) & parts(label)]
        found.append(places[0] if len(places) == 1 else "")
    return pd.Series(found, raw.index, dtype=object)


def _other(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    """The third option; empty where the two are not two others."""
    first, second = (raw[column] for column in rule.other or ())
    found = [
        next(iter(rest)) if len(rest := set(_OPTIONS) - {a, b}) == 1 else "" for a, b in zip(first, second, strict=True)
    ]
    return pd.Series(found, raw.index, dtype=object)


_RULES: Mapping[str, Callable[[str, Derived, pd.DataFrame], pd.Series]] = {
    "text": _text,
    "match": _match,
    "map": _map,
    "substitute": _substitute,
    "below": _below,
    "option": _option,
    "other": _other,
}
