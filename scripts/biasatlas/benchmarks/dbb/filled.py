"""The questions as DBB's authors filled them, found by content: their dataset, its larger set, replies with either.

A row has ``Context``, ``ans1`` and ``ans2`` with descriptor, name and pronoun in place, and the concepts ``bias type1``
and ``bias type2``. A name is drawn anew for each descriptor that takes one, but the last of a list, which has none.
"""

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.dbb import NAMES, PLACEHOLDER, VARIATIONS
from biasatlas.errors import UserError
from biasatlas.userfiles import read_csv_rows, shown, unpacked

#: Columns of a row that say which question it is.
CONTENT = ("Context", "ans1", "ans2", "bias type1", "bias type2")
#: Columns of items that hold a question as it was filled; missing where it was not.
COLUMNS = ("filled_context", "filled_option_1", "filled_option_2", "filled_name", "filled_samples")

#: What stands for the person in an option.
_PRONOUN = re.compile(r"\b(She|Her|He|His)\b")

#: (context, first concept, second concept) of a filled question -> its item and the name in it ('' for none).
Questions = Mapping[tuple[str, str, str], tuple[str, str]]


def questions(items: pd.DataFrame) -> Questions:
    """Every question of ``items`` as the authors' code may have filled it: with each of the names, or without.

    Raises UserError where the dataset has no ``data/descriptors.json``, whose texts it was filled with.
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
    """What a row is found by in :func:`questions`."""
    return normal(row["Context"]), normal(row["bias type1"]), normal(row["bias type2"])


def add_filled(items: pd.DataFrame, path: str | Path) -> pd.DataFrame:
    """``items`` as the authors filled them, with the columns :data:`COLUMNS`.

    ``path`` is their ``Bias-Dataset.csv``, or the larger set, as CSV or zip: the same columns and ``id``, the
    question's number from 0, with ten rows for each (``filled_samples``, a JSON list of context and two options). A row
    of the dataset is matched by its content, and so strangers and rows that are there twice are counted in the log; a
    question without a row has a ``fault``. The larger set goes by ``id``, and its options stand as they are: the
    authors' notebook takes those of template ``id % 50`` for ``id // 50``, so that two identities have different ones.
    The log counts these, too.

    Raises UserError for a file without these columns, and where no row is one of the questions.
    """
    with unpacked(path, ".csv") as files:
        for name, file in files.items():
            if "id" in _header(file):
                return _with_samples(items, file, name)
            return _with_dataset(items, file, name)
    raise UserError(f"{path}: it holds no CSV. Name the authors' Bias-Dataset.csv, or the zip of their larger set.")


def check_dataset(path: str | Path) -> None:
    """Raise UserError for a file that :func:`add_filled` could read nothing of, from its first row."""
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
