"""What DBB's authors published of their filled questions: the dataset, its larger set, and replies to either.

A row has ``Context``, ``ans1`` and ``ans2`` with descriptor, name and pronoun in place, and the concepts ``bias type1``
and ``bias type2``; context and concepts identify it. A name was drawn anew for each descriptor that takes one, except
the last of a list, which has none. Replies are GPT-4o's, as published, or a user's own in that layout. We could not see
the files of the authors' zip when we wrote this. So a file is recognised by its columns: :data:`CONTENT`, and one more,
with a reply or a choice.
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
from biasatlas.benchmarks.dbb import NAMES, PLACEHOLDER, VARIATIONS
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_csv_header, read_csv_rows, read_json_records, shown, unpacked

#: Columns of a row that say which question it is.
CONTENT = ("Context", "ans1", "ans2", "bias type1", "bias type2")
#: Columns of items that hold a question as it was filled; missing where it was not.
COLUMNS = ("filled_context", "filled_option_1", "filled_option_2", "filled_name", "filled_samples")

#: What stands for the person in an option.
_PRONOUN = re.compile(r"\b(She|Her|He|His)\b")

#: (context, first concept, second concept) of a filled question -> its item and the name in it ('' for none).
Questions = Mapping[tuple[str, str, str], tuple[str, str]]

_SUFFIXES = (".csv", ".json", ".jsonl")
#: Columns of the authors' dataset beside CONTENT, and those that programs add: none is a reply.
_OTHERS = ("Label", "explanation", "bias_type", "target", "id", "index", "Unnamed: 0", "")
#: How a column of replies is named; used to find it where there are others.
_NAMED_AS = re.compile(r"repl|respon|answer|output|choice|choose|chosen|predict|result|generat|gpt", re.IGNORECASE)
#: A choice given by its option's letter or column -> the option's number.
_CHOICES = {"a": 0, "b": 1, "ans1": 0, "ans2": 1}
_SILENT = ("refused", "ambiguous", "unparseable")


def questions(items: pd.DataFrame) -> Questions:
    """Every question of ``items`` as the authors' code may have filled it: with each of the names, or without.

    Raises UserError where the dataset has no ``data/descriptors.json``, whose texts the questions hold.
    """
    if items["descriptor_file"].isna().any() and (items["fault_descriptor"] == "").any():
        raise UserError(
            "data/descriptors.json: not among the files of the dataset. Fetch it: the questions hold its texts."
        )
    found: dict[tuple[str, str, str], tuple[str, str]] = {}
    columns = ["item_id", "context", "concept_1", "concept_2", "descriptor_file", "named"]
    for item_id, context, *concepts, descriptor, named in items[columns].itertuples(index=False):
        for name in (*NAMES, "") if named else ("",):
            text = "" if pd.isna(descriptor) else _described(descriptor, name)
            key = (normal(context.replace(PLACEHOLDER, text)), *map(normal, concepts))
            found.setdefault(key, (item_id, name))  # type: ignore[arg-type]
    return found


def _described(descriptor: str, name: str) -> str:
    return descriptor.replace("{name}", name) if name else descriptor.replace("{name}'s ", "").replace("{name}", "")


def normal(text: str) -> str:
    """``text`` with single blanks: the released descriptors have double ones that an editor may take out."""
    return " ".join(text.split())


def place(row: Mapping[str, str]) -> tuple[str, str, str]:
    """A row's key in :func:`questions`."""
    return normal(row["Context"]), normal(row["bias type1"]), normal(row["bias type2"])


def add_filled(items: pd.DataFrame, path: str | Path) -> pd.DataFrame:
    """``items`` as the authors filled them, with the columns :data:`COLUMNS`.

    ``path`` is their ``Bias-Dataset.csv``, or the larger set, as CSV or zip: the same columns and ``id``, the
    question's number from 0, with ten rows for each (``filled_samples``, a JSON list of context and two options). A row
    of the dataset is matched by its content; the log counts rows that are no question or repeat one, and a question
    without a row has a ``fault``. The larger set is matched by ``id``, and its options stay as they are: the authors'
    notebook takes those of template ``id % 50`` for ``id // 50``, so that two identities have different ones. The log
    counts these, too.

    Raises UserError for a file without these columns, and where no row is one of the questions.
    """
    with unpacked(path, ".csv") as files:
        for name, file in files.items():
            if "id" in _header(file):
                return _with_samples(items, file, name)
            return _with_dataset(items, file, name)
    raise UserError(f"{path}: it holds no CSV. Name the authors' Bias-Dataset.csv, or the zip of their larger set.")


def check_dataset(path: str | Path) -> None:
    """Raise UserError if the first row shows that :func:`add_filled` cannot read the file."""
    with unpacked(path, ".csv") as files:
        if not files:
            raise UserError(
                f"{path}: it holds no CSV. Name the authors' Bias-Dataset.csv, or the zip of their larger set."
            )
        next(read_csv_rows(next(iter(files.values())), CONTENT))


def _header(path: Path) -> list[str]:
    with path.open("rb") as file:
        return file.readline().decode(errors="replace").replace('"', "").strip().split(",")


def _with_dataset(items: pd.DataFrame, path: Path, name: str) -> pd.DataFrame:
    known, rows = questions(items), {}
    strangers: list[str] = []
    doubles = 0
    for where, row in read_csv_rows(path, CONTENT):
        item_id, drawn = known.get(place(row), ("", ""))
        if not item_id or not row["ans1"].strip() or not row["ans2"].strip():
            strangers.append(f"{where.rpartition(', ')[2]}: {shown(row['Context'])}")
        elif item_id in rows:
            doubles += 1
        else:
            rows[item_id] = (row["Context"], row["ans1"], row["ans2"], drawn)
    if not rows:
        raise UserError(
            f"{name}: none of its {len(strangers)} rows is a question of DBB, first {strangers[0]}. Fetch it again."
        )
    if strangers or doubles:
        first = f", first {strangers[0]}" if strangers else ""
        logging.warning(
            "%s: %d rows are no question%s; %d are there twice, left out", name, len(strangers), first, doubles
        )
    filled = items.assign(**dict.fromkeys(COLUMNS))
    found = filled["item_id"].map(rows)
    for number, column in enumerate(COLUMNS[:4]):
        filled[column] = found.str[number]
    missing = found.isna() & (filled["fault"] == "")
    return filled.assign(fault=filled["fault"].mask(missing, f"{name}: no row of this question"))


def _with_samples(items: pd.DataFrame, path: Path, name: str) -> pd.DataFrame:
    samples: dict[int, list[tuple[str, str, str]]] = {}
    for where, row in read_csv_rows(path, (*CONTENT, "id")):
        if not row["id"].isdecimal() or int(row["id"]) >= len(items):
            raise UserError(f"{where}: id is {shown(row['id'])}. Expected a question's number, 0 to {len(items) - 1}.")
        samples.setdefault(int(row["id"]), []).append((row["Context"], row["ans1"], row["ans2"]))
    size = int((items["template_id"] == items["template_id"].iloc[0]).sum())
    told = {number: [_PRONOUN.sub("", first) for _, first, _ in rows] for number, rows in samples.items()}
    later = [number for number in told if number >= size]
    slipped = {number for number in later if told[number] == told.get(number % size)}
    own = sum(told[number] == told.get(number - number % size) for number in later if number not in slipped)
    logging.warning(
        "%s: of %d questions after the first template's, %d have the options of their own, %d of template id %% %d",
        *(name, len(later), own, len(slipped), size),
    )
    usable = {number: rows for number, rows in samples.items() if len(rows) == VARIATIONS and all(map(all, rows))}
    filled = items.assign(**dict.fromkeys(COLUMNS))
    texts = [json.dumps(usable[n], ensure_ascii=False) if n in usable else None for n in range(len(items))]
    fault = [
        "" if n in usable else f"{name}, id {n}: {len(samples.get(n, []))} whole rows, expected {VARIATIONS}"
        for n in range(len(items))
    ]
    return filled.assign(filled_samples=texts, fault_sg=fault)


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each request, from ``GPT-4o-results.zip``; see :func:`read_replies`."""
    return _responses(step.files, step.items, step.requests, "")


def read_replies(step: Step) -> pd.DataFrame:
    """A response for each request, from CSV or JSON files, or a zip of them, that hold questions and replies.

    A row is matched by its content, never by its position. Its reply is a text, parsed as the protocol says, a letter,
    or a list of either; several rows of a question, and several columns that differ in their number (``reply_1``,
    ``reply_2``), are draws. The probability of an option is its frequency among a question's draws. A request without a
    row is "failed", one in the other order of the options "not_applicable". The log says how many rows are no question,
    how many questions have another number of draws than most, and which files have no such columns.

    Raises UserError where no file has such columns, where a file's replies may be in several columns (``column`` names
    one), and where no reply names an option.
    """
    return _responses(step.files, step.items, step.requests, step.column)


#: Formats of a user's own predictions.
FORMATS = {"replies": read_replies}


def check_replies(path: str | Path) -> None:
    """Raise UserError if the first row shows that :func:`read_replies` cannot read the file."""
    next(_rows({Path(path).name: Path(path)}, ""))


#: Checks of a file of the user's own predictions, made before any job, by format.
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
    """(place, row, replies) of each row of the files that have the columns."""
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
