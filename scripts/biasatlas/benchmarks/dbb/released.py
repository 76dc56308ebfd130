"""Replies to DBB's questions as choice responses: GPT-4o's, as published, or a user's own in that layout.

The files of the authors' zip could not be seen when this was written. So a file is told by its columns: those that say
which question a row is (:data:`biasatlas.benchmarks.dbb.filled.CONTENT`), and one more, with a reply or a choice.
"""

import ast
import contextlib
import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.dbb.filled import CONTENT, place, questions
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_csv_header, read_csv_rows, read_json_records, shown, unpacked

_SUFFIXES = (".csv", ".json", ".jsonl")
#: Columns of the authors' dataset beside CONTENT, and those that programs add: none is a reply.
_OTHERS = ("Label", "explanation", "bias_type", "target", "id", "index", "Unnamed: 0", "")
#: What a column of replies is called, where others stand beside it.
_NAMED_AS = re.compile(r"repl|respon|answer|output|choice|choose|chosen|predict|result|generat|gpt", re.IGNORECASE)
#: A choice that is written by the name of its option.
_CHOICES = {"a": 0, "b": 1, "ans1": 0, "ans2": 1}
_SILENT = ("refused", "ambiguous", "unparseable")


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each request, from ``GPT-4o-results.zip``; see :func:`read_replies`."""
    return _responses(step.files, step.items, step.requests, "")


def read_replies(step: Step) -> pd.DataFrame:
    """A response for each request, from CSV or JSON files, or a zip of them, that hold questions and replies.

    A row is matched by what it says, never by its place. Its reply is a text, parsed as the protocol says, a letter, or
    a list of either; several rows of a question, and several columns that differ in their number (``reply_1``,
    ``reply_2``), are draws. The probability of an option is its frequency among a question's draws. A request without a
    row is "failed", one in the other order of the options "not_applicable". The log says how many rows are no question,
    how many questions have another number of draws than most, and which files have no such columns.

    Raises UserError where no file can be understood, and where a file's replies may be in several columns (``column``
    names one) or none of them names an option.
    """
    return _responses(step.files, step.items, step.requests, step.column)


#: Formats of a user's own predictions.
FORMATS = {"replies": read_replies}


def check_replies(path: str | Path) -> None:
    """Raise UserError for a file that :func:`read_replies` could read nothing of, from its first row."""
    next(_rows({Path(path).name: Path(path)}, ""))


#: What is wrong with a file of the user's own predictions, by its format, said before any job.
CHECKS = {"replies": check_replies}


def _responses(files: Mapping[str, Path], items: pd.DataFrame, requests: pd.DataFrame, column: str) -> pd.DataFrame:
    known = questions(items)
    draws: dict[str, list[str]] = defaultdict(list)
    strangers: list[str] = []
    for where, row, said in _rows(files, column):
        item_id = known.get(place(row), ("", ""))[0]
        if item_id:
            draws[item_id] += said
        else:
            strangers.append(f"{where}: {shown(row['Context'])}")
    if not draws:
        raise UserError(
            f"{listed(files)}: none of {len(strangers)} rows is a question of DBB, first {strangers[0]}. Take its "
            "replies."
        )
    if strangers:
        logging.warning("%d rows are no question of DBB, left out, first %s", len(strangers), strangers[0])
    sizes = Counter(map(len, draws.values()))
    if len(sizes) > 1:
        (usual, most), *_ = sizes.most_common(1)
        logging.warning("%d questions have %d draws, %d another number", most, usual, len(draws) - most)
    rows = [_response(row, draws.get(row["item_id"])) for row in requests.to_dict("records")]
    if not any(any(json.loads(row["probabilities"] or "[]")) for row in rows):
        reply = next(iter(draws.values()))[0]
        raise UserError(
            f"{listed(files)}: no reply names an option, as {shown(reply)}. Name the column of replies as `column`."
        )
    return pd.DataFrame(rows)


def _response(request: Mapping[str, Any], draws: list[str] | None) -> dict[str, Any]:
    empty = {"request_id": request["request_id"], "repeat": 0, "probabilities": None, "replies": None}
    empty |= dict.fromkeys((*_SILENT, "unresolved"))
    if request["order"] != 1:
        return empty | {"status": "not_applicable", "detail": "asked in the other order"}
    if not draws:
        return empty | {"status": "failed", "detail": "no row"}
    options, parser = asked_options(request["labels"], request["options"]), PARSERS[request["parser"]]
    texts = [option.text for option in options]
    found: Counter[str | int] = Counter()
    for reply, times in Counter(draws).items():  # parsing takes long, and draws are often alike
        choice = _choice(reply, texts)
        found[parser.whole(reply, options) if choice is None else choice] += times
    masses = {name: found[name] / len(draws) for name in _SILENT}
    chosen = [found[number] / len(draws) for number in range(len(options))]
    replies = json.dumps([["ok", reply] for reply in draws], ensure_ascii=False)
    answered = {
        "status": "ok",
        "detail": "",
        "probabilities": json.dumps(chosen),
        "unresolved": 0.0,
        "replies": replies,
    }
    return empty | answered | masses


def _choice(reply: str, texts: list[str]) -> int | None:
    """The option that a cell names by its letter or column, or repeats; None where it is a reply to be parsed."""
    bare = reply.strip().strip("().").lower()
    return _CHOICES.get(bare, texts.index(reply.strip()) if reply.strip() in texts else None)


def _rows(files: Mapping[str, Path], column: str) -> Iterator[tuple[str, Mapping[str, Any], list[str]]]:
    """(place, row, replies) of each row of the files that are understood."""
    strange: dict[str, str] = {}
    understood = False
    for path in files.values():
        with unpacked(path, *_SUFFIXES) as inside:
            for name, file in inside.items():
                is_csv = file.suffix == ".csv"
                header = list(read_csv_header(file) if is_csv else next(read_json_records(file), ("", {}))[1])
                missing = ", ".join(each for each in CONTENT if each not in header)
                if missing or not _beside(header):
                    strange[name] = f"no column {missing or 'of replies'}; it has {listed(header)}"
                    continue
                columns, understood = _reply_columns(name, header, column), True
                for where, row in read_csv_rows(file, None) if is_csv else read_json_records(file):
                    if lacking := [each for each in CONTENT if not isinstance(row.get(each), str)]:
                        raise UserError(
                            f"{name}, {where}: {lacking[0]} is {shown(row.get(lacking[0]))}. Expected a text."
                        )
                    yield f"{name}, {where.rpartition(', ')[2]}", row, _replies(row, columns)
    if not understood:
        for path in files.values():
            if path.suffix == ".csv":  # whose own message says more
                next(read_csv_rows(path, CONTENT))
        why = "; ".join(f"{name}: {fault}" for name, fault in strange.items()) or "it holds no CSV or JSON"
        raise UserError(
            f"{listed(files)}: no replies to DBB's questions: {why}. docs/dbb.md says what a file must hold."
        )
    for name, why in strange.items():
        logging.warning("%s is not understood, and left out: %s", name, why)


def _beside(header: Iterable[str]) -> list[str]:
    return [each for each in header if each not in (*CONTENT, *_OTHERS)]


def _reply_columns(name: str, header: Iterable[str], column: str) -> list[str]:
    others = _beside(header)
    if column:
        if column not in others:
            raise UserError(
                f"{name}: no column {column!r} beside the questions'; it has {listed(others)}. Correct `column`."
            )
        return [column]
    likely = [each for each in others if _NAMED_AS.search(each)] or others
    if len({re.sub(r"[ _-]*\d+$", "", each) for each in likely}) != 1:
        raise UserError(
            f"{name}: replies may be in {listed(others)}. Name one column as `column` in the model's entry."
        )
    return likely


def _replies(row: Mapping[str, Any], columns: list[str]) -> list[str]:
    said: list[str] = []
    for column in columns:
        value = row.get(column)
        if isinstance(value, str) and value.lstrip().startswith("["):
            with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                value = ast.literal_eval(value.strip())
        values = value if isinstance(value, list) else [value]
        said += [str(each) for each in values if each is not None and str(each).strip()]
    return said
