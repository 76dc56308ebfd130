"""Files that people bring, as text, CSV, JSON or JSON Lines; one message says all that is wrong with a file.

All are UTF-8, with or without a byte order mark, unless an encoding is named. Every function raises UserError for a
file that is not there, is empty, is in another encoding, or is no text at all.
"""

import codecs
import contextlib
import csv
import json
import math
import os
import re
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TextIO

from biasatlas.errors import UserError

#: First bytes of what is no text in UTF-8 -> what it is, and what to do.
_SIGNS = {
    b"\xff\xfe": "in UTF-16. Save it as UTF-8",
    b"\xfe\xff": "in UTF-16. Save it as UTF-8",
    b"pk\x03\x04": "a workbook or another zip archive. Save its table as CSV (UTF-8)",
    b"par1": "a Parquet file. Save its table as CSV (UTF-8)",
    b"\x1f\x8b": "compressed with gzip. Unpack it",
    b"version https://git-lfs": "a pointer of git-lfs to the file. Run `git lfs pull` where it comes from",
    b"<!doctype html": "a web page. Download the file itself",
    b"<html": "a web page. Download the file itself",
}
_HEAD_BYTES = 4096
#: utf-8-sig: spreadsheets put a byte order mark first.
UTF_8 = "utf-8-sig"
_SHOWN_CHARACTERS = 80
#: A cell may hold a whole document; after a quotation mark that is not closed it is the rest of the file.
csv.field_size_limit(2**24)
_LISTED = 12
#: Half of a surrogate pair, which is not a character, written as JSON can write it.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def shown(value: object) -> str:
    """``value`` as messages quote it; a long one is cut."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} ... ({len(text)} characters)"


def listed(names: Iterable[str]) -> str:
    """``names`` as messages list them: sorted, and only the first of many."""
    names = sorted(names)
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "") or "none"


def read_text(path: str | os.PathLike, *, encoding: str = UTF_8) -> str:
    """The whole text of a file."""
    with _opened(path, encoding) as file:
        return file.read()


def read_csv_rows(
    path: str | os.PathLike,
    columns: Collection[str] | None,
    *,
    short_rows: bool = False,
    delimiter: str = ",",
    encoding: str = UTF_8,
) -> Iterator[tuple[str, dict[str, str]]]:
    """(file and line, row) of each row of a CSV with a header; a row has the ``columns`` alone (None: all), as text.

    Rows without any text are left out: spreadsheets append them. With ``short_rows`` a row may end early, and the cells
    that it lacks are empty. Raises UserError for a column that is missing or there twice, a row with more or fewer
    cells than the header or equal to it, a quotation mark that is not closed, and a file without rows.
    """
    line, empty = 1, True  # the first line of the row that is being read
    with _opened(path, encoding) as file:
        reader = csv.reader(file, strict=True, delimiter=delimiter)
        try:
            header = next(reader, [])
            positions = _positions(path, header, header if columns is None else columns, delimiter)
            line = reader.line_num + 1
            for cells in reader:
                where = f"{path}, line {line}"
                line = reader.line_num + 1
                if not any(cells):
                    continue
                if short_rows:
                    cells += [""] * (len(header) - len(cells))
                if len(cells) != len(header):
                    raise UserError(
                        f"{where}: {len(cells)} cells where the header has {len(header)}. Complete the row, and put a "
                        "cell that has a comma in it between quotation marks."
                    )
                if cells == header:
                    raise UserError(f"{where}: the header stands here again. Remove the line.")
                empty = False
                yield where, {name: cells[position] for name, position in positions.items()}
        except csv.Error as error:
            raise UserError(
                f"{path}, line {line}: not CSV ({error}). Look for a quotation mark that is not closed, or that stands "
                "in a quoted cell and is not doubled."
            ) from None
    if empty:
        raise UserError(f"{path}: no rows below the header. Expected at least one: complete the file.")


def read_csv_header(path: str | os.PathLike, *, delimiter: str = ",", encoding: str = UTF_8) -> list[str]:
    """The names of a CSV file's columns."""
    with _opened(path, encoding) as file:
        return next(csv.reader(file, delimiter=delimiter), [])


def _positions(path: str | os.PathLike, header: list[str], columns: Collection[str], delimiter: str) -> dict[str, int]:
    """Column -> its position among the cells of a row."""
    for name in columns:
        if header.count(name) != 1:
            fault = f"{header.count(name)} columns {name!r}" if name in header else f"no column {name!r}"
            mark = next((mark for mark in ",;\t" if len(header) == 1 and mark in header[0]), None)
            wanted = {",": "commas", "\t": "tabs"}.get(delimiter, repr(delimiter))
            remedy = f"Separate cells by {wanted}, not by {mark!r}" if mark else "Rename, add or remove columns"
            near = get_close_matches(name, header, n=1) if name not in header else []
            fault += f" (did you mean {near[0]!r}?)" if near else ""
            raise UserError(
                f"{path}, line 1: {fault}; the header is {shown(header)}. Expected {', '.join(columns)}. {remedy}."
            )
    return {name: header.index(name) for name in columns}


def read_json(path: str | os.PathLike) -> Any:
    """What a JSON file holds. Raises UserError where it is not JSON, with line and column, or has a key twice."""
    return _parsed(str(path), read_text(path))


def read_json_lines(path: str | os.PathLike, *, encoding: str = UTF_8) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file and line for messages, object) of each line of a JSON Lines file.

    Raises UserError for a line that is not a JSON object, or blank before the end, and for a file without lines.
    """
    blank, empty = "", True
    with _opened(path, encoding) as file:
        for number, line in enumerate(file, 1):
            where = f"{path}, line {number}"
            if not line.strip():
                blank = blank or where
                continue
            if blank:
                raise UserError(f"{blank}: the line is blank. Remove it, or put the object back that belongs there.")
            row = _parsed(where, line)
            if not isinstance(row, dict):
                raise UserError(f"{where}: {shown(row)}. Expected a JSON object, as {{...}}, on each line.")
            empty = False
            yield where, row
    if empty:
        raise UserError(f"{path}: no lines. Expected a JSON object on each line: complete the file.")


def read_json_records(path: str | os.PathLike, *, encoding: str = UTF_8) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file and place, object) of each object of a JSON Lines file, or of a file that is one list of them."""
    with _opened(path, encoding) as file:
        begins = next((line.lstrip()[:1] for line in file if line.strip()), "")
    if begins != "[":
        yield from read_json_lines(path, encoding=encoding)
        return
    for number, row in enumerate(_parsed(str(path), read_text(path, encoding=encoding)), 1):
        where = f"{path}, record {number}"
        if not isinstance(row, dict):
            raise UserError(f"{where}: {shown(row)}. Expected a JSON object, as {{...}}.")
        yield where, row


def check_texts(where: str, row: Mapping[str, object], keys: Iterable[str]) -> None:
    """Raise UserError for the first of ``keys`` that ``row`` lacks, or whose value is no text or a blank one."""
    for key in keys:
        value = row.get(key)
        if not isinstance(value, str) or not value or value.isspace():
            fault = f"{key} is {shown(value)}" if key in row else f"no {key}"
            raise UserError(f"{where}: {fault}. Expected a text: fill it in, or remove the row.")


def finite(text: str) -> float:
    """The number that ``text`` says; NaN where it says none, or an infinite one."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _parsed(where: str, text: str) -> Any:
    try:
        value = _DECODER.decode(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.rstrip("\n") else f"column {error.colno}"
        raise UserError(f"{where}, {place}: not JSON ({error.msg}). Correct it, or fetch the file again.") from None
    except UnicodeEncodeError:
        raise UserError(f"{where}: a text has half of a surrogate pair, not a character. Correct it.") from None
    except (ValueError, RecursionError) as error:  # also what exceeds Python's limits
        raise UserError(f"{where}: not JSON ({error}). Correct it, or fetch the file again.") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} stands twice in one object")
    return values


_DECODER = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=_unique)


@contextlib.contextmanager
def unpacked(path: str | os.PathLike, *suffixes: str) -> Iterator[dict[str, Path]]:
    """The files of a zip with one of ``suffixes``, by name, while the context lasts; for any other file, itself.

    Raises UserError for a ``.zip`` that is no zip or is damaged, and for a workbook.
    """
    file = Path(path)
    if not zipfile.is_zipfile(file):
        if file.suffix == ".zip":
            if file.read_bytes()[:2] != b"PK":
                read_text(file)  # raises, and says what it is instead
            raise UserError(f"{file}: no zip archive, or a part of one. Fetch it again.")
        yield {file.name: file}
        return
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(file) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(suffixes) and "__MACOSX" not in name)
        if "[Content_Types].xml" in archive.namelist():
            raise UserError(f"{file}: a workbook. Save its table as CSV (UTF-8).")
        try:
            yield {f"{file.name}/{name}": Path(archive.extract(name, folder)) for name in names}
        except (zipfile.BadZipFile, OSError) as error:
            raise UserError(f"{file}: the archive is damaged ({error}). Fetch it again.") from None


@contextlib.contextmanager
def _opened(path: str | os.PathLike, encoding: str = UTF_8) -> Iterator[TextIO]:
    """The file as text, with its line ends as they are."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file. Correct the path.") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}). Name a file that you may read.") from None
    if not head:
        raise UserError(f"{path}: the file is empty. Fetch or save it again.")
    sign = next((sign for sign in _SIGNS if head.lower().startswith(sign)), None)
    if sign or b"\0" in head:
        raise UserError(f"{path}: {_SIGNS[sign] if sign else 'no text, or in UTF-16. Save it as UTF-8'}.")
    if codecs.lookup(encoding).name == "utf-8":
        encoding = UTF_8
    try:
        with open(path, encoding=encoding, newline="") as text:
            yield text
    except UnicodeError:
        line = _undecodable(Path(path), encoding)
        if encoding == UTF_8:
            raise UserError(f"{path}, line {line}: not UTF-8. Save the file as UTF-8.") from None
        raise UserError(f"{path}, line {line}: not {encoding}. Name the encoding that it is in.") from None


def _undecodable(path: Path, encoding: str) -> str:
    """Number and byte of the first line that is not in ``encoding``."""
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return f"{number} (byte 0x{line[error.start]:02x})"
            except UnicodeError:  # of encodings that look at more than a byte
                return str(number)
    return "unknown"
