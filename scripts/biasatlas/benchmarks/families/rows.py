"""The data of a described benchmark as a table of text, whatever their columns are called."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.families.description import ROW, Rows, split_template, template_fields
from biasatlas.benchmarks.shared.errata import corrected
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_csv_rows, read_json_records, shown
from biasatlas.validation import nearest

#: Where a row of the data stands, for messages: a column beside those of the data.
WHERE = "where"


def read_rows(description: Rows, files: Mapping[str, Path], columns: Iterable[str]) -> pd.DataFrame:
    """A row per record of the files that the description names, in their order: ``columns`` as text, ``row``, ``where``.

    ``replace`` and ``errata`` are done. Raises UserError where no file matches, and naming file, line and column where a record lacks one.
    """
    names = sorted(name for name in files if fnmatch(name, description.files))
    if not names:
        raise UserError(f"{description.title}: expected {description.files}, found {listed(files)}. Name its folder.")
    columns = [name for name in dict.fromkeys(columns) if name != ROW]
    header = {name: header for header, name in description.headers.items()}
    wanted = [header.get(name, name) for name in columns]
    records = [record for name in names for record in _records(files[name], wanted)]
    raw = pd.DataFrame(records, columns=[WHERE, ROW, *columns])
    for column, values in description.replace.items():
        if column not in raw:
            raise UserError(f"{description.title}: replace: {column!r} is not read{nearest(column, columns)}")
        raw[column] = raw[column].replace(values)
    if description.errata:
        raw = corrected(raw, render(description.item, raw), description.errata, description.title)
    return raw


def _records(path: Path, columns: list[str]) -> Iterator[tuple[str, ...]]:
    if path.suffix in (".jsonl", ".json"):
        rows: Iterator[tuple[str, Mapping[str, Any]]] = (
            (where, {name: _value(where, record, name) for name in columns})
            for where, record in read_json_records(path)
        )
    else:
        rows = read_csv_rows(path, columns, delimiter="\t" if path.suffix == ".tsv" else ",")
    for number, (where, row) in enumerate(rows, 1):
        yield (where, str(number), *(row[name] for name in columns))


def _value(where: str, record: Mapping[str, Any], name: str) -> str:
    """The value at ``name``, where a dot goes into an object or a list; numbers are text."""
    value: Any = record
    for key in name.split("."):
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise UserError(f"{where}: no {name}{nearest(name, record)}")
    if not isinstance(value, str | int | float):
        raise UserError(f"{where}: {name} is {shown(value)}. Expected a text or a number.")
    return str(value)


def render(text: str, raw: pd.DataFrame) -> pd.Series:
    """``text`` with its fields filled from the columns of ``raw``, all rows at once."""
    pieces = split_template(text)
    if len(pieces) == 1:
        return pd.Series(text, raw.index)
    return reduce(add, (raw[piece] if place % 2 else piece for place, piece in enumerate(pieces)))


def named(raw: pd.DataFrame, column: str, names: Mapping[str, str]) -> pd.Series:
    """The values of ``column`` by their ``names``. Raises UserError for the first that has none."""
    found = raw[column].map(names)
    check(raw, found.notna(), column, f"one of {', '.join(names)}")
    return found


def check(raw: pd.DataFrame, good: pd.Series, column: str, expected: str) -> None:
    """Raise UserError naming file, line and value for the first row of ``raw`` that is not ``good``."""
    if not good.all():
        row = raw.loc[~good.to_numpy()].iloc[0]
        raise UserError(f"{row[WHERE]}: {column} is {shown(row[column])}. Expected {expected}.")


def written(text: str, raw: pd.DataFrame) -> pd.Series:
    """:func:`render`; UserError naming file, line and column for the first row where it is blank."""
    found = render(text, raw)
    check(raw, found.str.strip() != "", next(iter(template_fields(text)), ROW), "a text: fill it in, or remove the row")
    return found


def check_ids(raw: pd.DataFrame, items: pd.DataFrame) -> None:
    """Raise UserError for the first item whose id is not its own; ``items`` are the rows of ``raw``, once or several times over."""
    repeated = items["item_id"].duplicated()
    if repeated.any():
        place = int(np.flatnonzero(repeated)[0])
        where, item = raw[WHERE].iloc[place % len(raw)], items["item_id"].iloc[place]
        raise UserError(f"{where}: item {item!r} is there already. Add a column to `item` that tells them apart.")
