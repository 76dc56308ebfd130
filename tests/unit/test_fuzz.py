"""Readers on damaged files: one message that names the file, or a table that lacks nothing; never another exception."""

import csv
import io
import json
import re
from dataclasses import replace
from random import Random

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook
from parser_cases import PARSERS, FileParser, resources

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.errors import UserError
from biasatlas.validation import check_files
from biasatlas.workflow.config import load_config

VALUES = [None, "", " ", "x", "ä" * 300, "\ud800", [], {}, [None], 0, -1, 1.5, True, 10**30, float("nan"), float("inf")]


def assert_message(message: str, names: list[str]) -> None:
    """One line a fault, each in words; the name of a file is among them."""
    for line in message.splitlines():
        assert len(line) < 700, line
        assert not re.search(r"(?<!')\bnan\b|Traceback|<class|object at 0x|Error\(", line), line
    assert any(name in message for name in names), message


# What may happen to bytes


def flip(data: bytes, random: Random) -> bytes:
    position = random.randrange(len(data))
    return data[:position] + bytes([random.randrange(256)]) + data[position + 1 :]


def cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data))]


def recode(data: bytes, random: Random) -> bytes:
    encoding = random.choice(["utf-16", "utf-16-le", "latin-1", "big5", "utf-8-sig", "cp1252"])
    return data.decode(errors="replace").encode(encoding, errors="replace")


def shuffle_lines(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    line = random.randrange(len(lines))
    middle = random.choice([[], [b"\n"], [lines[line]] * 2, [b"\0" + lines[line]], [lines[line].replace(b'"', b"", 1)]])
    return b"".join([*lines[:line], *middle, *lines[line + 1 :]]) or b"\n"


# What may happen to what they mean


def change_csv(data: bytes, random: Random) -> bytes:
    rows = list(csv.reader(io.StringIO(data.decode())))
    row, column = random.randrange(len(rows)), random.randrange(len(rows[0]))
    match random.randrange(7):
        case 0:
            rows = [[cell for position, cell in enumerate(cells) if position != column] for cells in rows]
        case 1:
            rows[0][column] = random.choice(["x", "", rows[0][0], rows[0][-1]])
        case 2:
            rows[row] = [""] * len(rows[row])
        case 3:
            rows = rows[:1]
        case 4:
            rows[row] = rows[row][:column]
        case 5:
            rows[row].insert(column, "x")
        case _:
            value = random.choice(["", " ", "x", "nan", "NaN", "1e999", "²", "-1", '"', "[", "\n", "None", "0" * 5000])
            rows[row][column : column + 1] = [value]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def change_json(data: bytes, random: Random) -> bytes:
    lines = data.decode().splitlines() if data.count(b"\n{") else [data.decode()]
    line = random.randrange(len(lines))
    holder = [json.loads(lines[line])]
    places = list(_places(holder))
    part, key = random.choice(places)
    if random.random() < 0.3 and part is not holder:
        del part[key]
    elif random.random() < 0.2 and isinstance(part, dict):
        part[f"{key} "] = part.pop(key)
    else:
        part[key] = random.choice(VALUES)
    lines[line] = json.dumps(holder[0])
    return "\n".join(lines).encode()


def _places(value):
    """Every (container, key) below ``value``."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def change_workbook(data: bytes, random: Random) -> bytes:
    book = load_workbook(io.BytesIO(data))
    sheet = book.active
    row, column = random.randint(1, sheet.max_row), random.randint(1, sheet.max_column)
    match random.randrange(5):
        case 0:
            sheet.delete_cols(column)
        case 1:
            sheet.delete_rows(2, sheet.max_row)
        case 2:
            sheet.insert_rows(row)
        case _:
            value = random.choice([None, "", " ", "x", "=A1", "#REF!", True, -1, 1e300, "nan", "，", "a,b", "甲，，乙"])
            sheet.cell(row, column).value = value
    text = io.BytesIO()
    book.save(text)
    return text.getvalue()


ANY = (flip, cut, recode, shuffle_lines)
DAMAGES = {
    ".csv": (*ANY, change_csv, change_csv),
    ".xlsx": (flip, cut, change_workbook, change_workbook),
} | dict.fromkeys((".json", ".jsonl"), (*ANY, change_json, change_json, change_json))


def read_gender(files):
    """One of McBE's twelve workbooks: all of them take too long to be read hundreds of times."""
    read = registry.read_items("mcbe")
    return read({"gender.xlsx": files["gender.xlsx"]}, resources("mcbe", "items"), categories=["gender"])


def parser_of(name: str) -> FileParser:
    if name != "mcbe":
        return PARSERS[name]
    return replace(
        PARSERS[name],
        read=read_gender,
        columns=tuple(name for name in PARSERS[name].columns if name != "sentence_id"),  # across workbooks
        rows=lambda path: sum(any(row) for row in load_workbook(path).active.iter_rows(min_row=2, values_only=True)),
    )


@pytest.mark.parametrize("name", PARSERS)
def test_damaged_files(name, tmp_path):
    parser = parser_of(name)
    files = parser.write(tmp_path)
    whole = {path: path.read_bytes() for path in set(files.values())}
    # The file with the rows is damaged half of the time.
    choices = sorted(whole) + [files[parser.file]] * len(whole)

    @settings(max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def damaged(random):
        path = random.choice(choices)
        path.write_bytes(random.choice(DAMAGES[path.suffix])(whole[path], random))
        try:
            assert_table(parser, files)
        except UserError as error:
            assert_message(str(error), [file.name for file in whole])
        finally:
            path.write_bytes(whole[path])

    damaged()


def assert_table(parser: FileParser, files) -> None:
    table = parser.read(files)
    assert set(parser.columns) <= set(table.columns)
    for column in parser.texts:
        assert all(isinstance(value, str) and value for value in table[column]), column
        "".join(table[column]).encode()
    if parser.rows is not None:
        assert len(table) == parser.rows(files[parser.file]) * parser.per_row


def test_damaged_configurations(tmp_path):
    """Bytes and values of the demo's file, which has every section."""
    path = tmp_path / "config.yaml"
    text = (ROOT / "config" / "config.yaml").read_bytes()
    values = json.dumps(yaml.safe_load(text)).encode()

    @settings(max_examples=150, derandomize=True, deadline=None, database=None)
    @given(st.randoms(use_true_random=False))
    def damaged(random):
        path.write_bytes(random.choice([flip, cut, recode, shuffle_lines])(text, random))
        if random.random() < 0.5:
            path.write_bytes(change_json(values, random))
        try:
            check_files([path])
            load_config(yaml.safe_load(path.read_text(encoding="utf-8-sig")), [path])
        except UserError as error:
            assert_message(str(error), [path.name])

    damaged()
