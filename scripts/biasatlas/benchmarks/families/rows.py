"""The data of a described benchmark as a table of text, whatever their columns are; and columns made from others."""

import ast
import json
import logging
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import cache, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.families.derived import Derived, Join, corrected, split_template, template_fields
from biasatlas.benchmarks.families.description import ROW, Rows
from biasatlas.errors import UserError
from biasatlas.userfiles import UTF_8, listed, read_csv_header, read_csv_rows, read_json_records, shown
from biasatlas.validation import nearest


def read_rows(description: Rows, files: Mapping[str, Path], columns: Iterable[str]) -> pd.DataFrame:
    """A row per record of the described files, in their order: ``columns`` as text, ``row``, ``where``.

    ``replace``, ``join``, ``derive``, ``errata`` and ``drop`` are applied in this order. Raises UserError if no file
    matches; if a record lacks a column or a rule does not fit it, the error names file, line and column.
    """
    names = sorted(name for name in files if fnmatch(name, description.files))
    if not names:
        raise _not_there(description, description.files, files, "files")
    wanted = description.read_columns(columns)
    joined = description.join.columns if description.join else []
    read = list(dict.fromkeys([*(name for name in wanted if name not in joined), *_keys(description)]))
    header = {name: header for header, name in description.headers.items()}
    headers = [header.get(name, name) for name in read]
    records = [record for name in names for record in _records(description, name, files[name], headers)]
    if not records:
        raise UserError(f"{files[names[0]]}: no records. Expected at least one: complete the file.")
    raw = pd.DataFrame(records, columns=[WHERE, ROW, *read])
    for column, values in description.replace.items():
        if column not in raw:
            raise UserError(f"{description.title}: replace: {column!r} is not read{nearest(column, read)}")
        raw[column] = raw[column].replace(values)
    if description.join:
        raw = raw.join(_joined(description, description.join, files, raw))
    raw = derive(raw, description.derive)
    _check_agreement(description, raw)
    if description.errata:
        raw = corrected(raw, render(description.item, raw), description.errata, description.title)
    return _without_dropped(description, raw)


def _not_there(description: Rows, expected: str, files: Mapping[str, Path], key: str) -> UserError:
    return UserError(
        f"{description.title}: expected {expected}, found {listed(files)}. Name another folder as its data, or correct "
        f"`{key}` in its description."
    )


def _keys(description: Rows) -> Iterable[str]:
    return description.join.by if description.join else ()


def _joined(description: Rows, join: Join, files: Mapping[str, Path], raw: pd.DataFrame) -> pd.DataFrame:
    """The second file's columns for each row of ``raw``. Raises UserError for a missing row, and for a repeated key."""
    if join.file not in files:
        raise _not_there(description, join.file, files, "join")
    path, there = files[join.file], list(join.by.values())
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for where, _, *values in _records(description, join.file, path, [*there, *join.columns]):
        key = tuple(values[: len(there)])
        if key in found:
            raise UserError(f"{where}: a second row of {', '.join(key)}. Keep one, or join by more columns.")
        found[key] = tuple(values[len(there) :])
    keys = pd.Series(list(zip(*(raw[name] for name in join.by), strict=True)), raw.index)
    absent = ~keys.isin(found)
    if absent.any():
        where, key = raw.loc[absent, WHERE].iloc[0], keys[absent].iloc[0]
        raise UserError(f"{where}: {path} has no row of {', '.join(key)}. Take both from one version.")
    return pd.DataFrame(keys.map(found).tolist(), columns=join.columns, index=raw.index)


def _check_agreement(description: Rows, raw: pd.DataFrame) -> None:
    """Raise UserError if columns that must agree differ in more rows than the description allows."""
    for rule in description.agree:
        expected = render(rule.equals, raw)
        differing = raw[rule.column] != expected
        if differing.sum() > rule.exceptions:
            first = differing.idxmax()
            raise UserError(
                f"{raw.at[first, WHERE]}: {rule.column} is {shown(raw.at[first, rule.column])}, and {rule.equals} is "
                f"{shown(expected[first])}; so in {differing.sum()} of {len(raw)} rows, where {rule.exceptions} are "
                "known. Find out "
                f"which is right, correct the data or add errata, and count the rest as `exceptions` of `agree`."
            )
        if differing.any():
            logging.info(
                "%s: %s differs from %s in %d rows: %s",
                *(description.title, rule.column, rule.equals, differing.sum(), rule.reason),
            )


def _without_dropped(description: Rows, raw: pd.DataFrame) -> pd.DataFrame:
    """``raw`` without the rows that the description drops; they are logged. Raises UserError for more than it says."""
    for drop in description.drop:
        gone = raw[drop.column] == render(drop.equals, raw)
        if gone.sum() > drop.count:
            raise UserError(
                f"{description.title}: drop: {gone.sum()} rows have {drop.column} {drop.equals!r}, the description "
                f"says {drop.count}, first {raw.loc[gone, WHERE].iloc[0]}. The data are of another version: look at "
                "them, and correct `count`."
            )
        if gone.any():
            logging.info(
                "%s: left out %d of the %d rows that are known: %s",
                description.title,
                gone.sum(),
                drop.count,
                drop.reason,
            )
        raw = raw[~gone]
    if raw.empty:
        raise UserError(f"{description.title}: drop: it leaves no row of the data. Correct what it drops.")
    return raw.reset_index(drop=True)


def _records(description: Rows, name: str, path: Path, columns: list[str]) -> Iterator[tuple[str, ...]]:
    """(place, number, cells of ``columns``) of each record of a file."""
    encoding = _encoding(description, name)
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".json"):
        rows: Iterator[tuple[str, Mapping[str, Any]]] = read_json_records(path, encoding=encoding)
    else:
        delimiter = description.delimiter or ("\t" if suffix == ".tsv" else ",")
        header = read_csv_header(path, delimiter=delimiter, encoding=encoding)
        heads = list(dict.fromkeys(_head(header, column) for column in columns))
        rows = read_csv_rows(path, heads, delimiter=delimiter, encoding=encoding)
    lists = description.lists
    for number, (where, row) in enumerate(rows, 1):
        yield (where, str(number), *(_value(where, row, column, lists) for column in columns))


def _encoding(description: Rows, name: str) -> str:
    """The encoding of a file. Raises UserError where it has several."""
    rule = description.encoding
    if isinstance(rule, str):
        return rule
    given = {pattern: encoding for pattern, encoding in rule.items() if fnmatch(name, pattern)}
    if len(set(given.values())) > 1:
        each = " and ".join(f"{pattern!r} ({encoding})" for pattern, encoding in given.items())
        raise UserError(f"{description.title}: encoding: {name} fits {each}. Write patterns so that it fits one.")
    return next(iter(given.values()), UTF_8)


def _head(record: Iterable[str], name: str) -> str:
    """The longest beginning of a dotted ``name`` that is a column of the record, or its first part."""
    head = name
    while head not in record and "." in head:
        head = head.rpartition(".")[0]
    return head


def _value(where: str, record: Mapping[str, Any], name: str, lists: Collection[str]) -> str:
    """The value at ``name`` as text. A dot in the name goes into an object or list, also one that a cell has as text.

    The value of a name in ``lists`` may be a list, which becomes JSON.
    """
    head = _head(record, name)
    if head not in record:
        raise UserError(f"{where}: no {name}{nearest(name, record)}")
    value: Any = record[head]
    for key in name[len(head) + 1 :].split(".") if head != name else ():
        value = literal(value) if isinstance(value, str) else value
        if isinstance(value, list | tuple) and key.lstrip("-").isdigit() and -len(value) <= int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise UserError(
                f"{where}: no {name}: {head} is {shown(record[head])}. Correct the description, or the row."
            )
    if isinstance(value, list) and name in lists:
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str | int | float) or value in (math.inf, -math.inf) or value != value:
        raise UserError(f"{where}: {name} is {shown(value)}. Expected a text or a number.")
    return json.dumps(value) if isinstance(value, bool) else str(value)


def named(raw: pd.DataFrame, column: str, names: Mapping[str, str]) -> pd.Series:
    """The values of ``column``, replaced by their ``names``. Raises UserError for the first without one."""
    found = raw[column].map(names)
    check(raw, found.notna(), column, f"one of {', '.join(names)}")
    return found


def written(text: str, raw: pd.DataFrame) -> pd.Series:
    """:func:`render`, checked: a UserError names file, line and column if a text, or a column in all rows, is blank."""
    found = render(text, raw)
    check(raw, found.str.strip() != "", next(iter(template_fields(text)), ROW), "a text: fill it in, or remove the row")
    for column in template_fields(text):
        if (raw[column].str.strip() == "").all():
            raise UserError(
                f"{raw[WHERE].iloc[0]}: {column} is {shown(raw[column].iloc[0])}, as in all rows. Fill it in, or take "
                f"it out of {shown(text)}."
            )
    return found


def check_ids(raw: pd.DataFrame, items: pd.DataFrame) -> None:
    """Raise UserError for the first id that several items have; ``items`` are the rows of ``raw``, perhaps repeated."""
    repeated = items["item_id"].duplicated()
    if repeated.any():
        place = int(np.flatnonzero(repeated)[0])
        where, item = raw[WHERE].iloc[place % len(raw)], items["item_id"].iloc[place]
        raise UserError(f"{where}: item {item!r} is there already. Add a column to `item` that tells them apart.")


#: The column with a row's place in the data, for messages; no column of the data has this name.
WHERE = "\0where"
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
    """The list or object that a cell holds in Python's or JSON's notation, or else its text."""
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
    """``found``, with ``otherwise`` in rows where nothing was found."""
    if rule.otherwise is not None:
        return found.where(found.notna(), render(rule.otherwise, raw))
    what = f"{name}: {rule.of}"
    check(raw.assign(**{what: of}), found.notna(), what, expected)
    return found


def _substitute(name: str, rule: Derived, raw: pd.DataFrame) -> pd.Series:
    """Words replaced, longer ones first, so that one within another is left alone."""
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
    """The number of the only option whose label, or a part between commas, is wanted; empty for none or several."""
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
    """The third option; empty if the two columns do not name two different options."""
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
