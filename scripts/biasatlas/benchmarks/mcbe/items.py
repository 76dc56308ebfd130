"""Read McBE's workbooks, one per category, into one table of items."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from openpyxl import load_workbook

from biasatlas.benchmarks.mcbe.columns import ITEM_COLUMNS
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORIES, CATEGORY_NAMES, PLACEHOLDER, subcategories
from biasatlas.errors import UserError
from biasatlas.resources import Resources

#: Columns of a workbook.
_SHEET_COLUMNS = ("context", "sentence", "words", "subtype", "explanation", "score")
_SEPARATOR = "，"

# The dataset's file names are not documented; these spellings of a category's name are known, letters alone.
_SPELLINGS = {
    "ses": "socioeconomic_status",
    "socioeconomic": "socioeconomic_status",
    "lgbt": "lgbtq",
    "lgbtqia": "lgbtq",
} | {category.replace("_", ""): category for category in CATEGORIES}
#: Sizes that the printed scores imply where they differ from Table 6 by one instance.
_ALSO_ACCEPTED = {"religion": 269, "health": 270}
_FAULTS_SHOWN = 20


def read_items(files: Mapping[str, Path], resources: Resources) -> pd.DataFrame:
    """One row per instance, by category in the paper's order, then in the order of the sheet.

    ``files`` maps names of workbooks (``gender.xlsx``, in any folder) to paths on disk; files that are no workbooks are
    ignored. ``item_id`` is category and row of the sheet; ``words`` a JSON list in the order given, repeats kept;
    ``severity`` the annotators' score, 0 to 10; ``context`` may be empty. Repeated rows are kept under ids of their own.

    Raises :class:`UserError` with every fault (file, row, column): a workbook that is missing or of no category, a
    second sheet that is not empty, a missing column, an empty cell, words separated by another comma, a sentence
    without the placeholder ``[PLH]``, a subtype not in Table 3 for the category (Appearance, where the table is not
    legible, takes any), a score that is no number from 0 to 10.
    """
    workbooks = _by_category(files)
    allowed = subcategories(resources)
    items, faults = [], []
    for category in CATEGORIES:
        for item_or_fault in _read_workbook(workbooks[category], category, allowed.get(category)):
            (items if isinstance(item_or_fault, dict) else faults).append(item_or_fault)
    if faults:
        more = f"\n... and {len(faults) - _FAULTS_SHOWN} more." if len(faults) > _FAULTS_SHOWN else ""
        raise UserError("\n".join(faults[:_FAULTS_SHOWN]) + more)
    return pd.DataFrame(items, columns=list(ITEM_COLUMNS))


def check_items(items: pd.DataFrame, resources: Resources) -> list[str]:
    """Hold the number of instances of each category against Table 6 (4,077 in all), for the dataset as published.

    Returns a remark for each accepted difference (269 for Religion, 270 for Health: what the printed scores imply).
    Raises :class:`UserError` for any other.
    """
    counts = items["category"].value_counts()
    remarks, faults = [], []
    for category, expected in published_sizes(resources).items():
        count = int(counts.get(category, 0))
        if count == expected:
            continue
        text = f"{CATEGORY_NAMES[category]}: {count} instances where Table 6 has {expected}"
        (remarks if count == _ALSO_ACCEPTED.get(category) else faults).append(text)
    if faults:
        raise UserError(
            "; ".join(faults) + ". This is not the published McBE: download it again, or use `data: sample` to try "
            "the workflow."
        )
    return remarks


def published_sizes(resources: Resources) -> dict[str, int]:
    """Category -> instances by Table 6."""
    table = resources.published("mcbe_composition").astype({"instances": int})
    sizes = table.groupby("category")["instances"].sum()
    return {category: int(sizes[name]) for category, name in CATEGORY_NAMES.items()}


def _by_category(files: Mapping[str, Path]) -> dict[str, Path]:
    workbooks: dict[str, Path] = {}
    for name, path in sorted(files.items()):
        if Path(name).suffix.lower() != ".xlsx":
            continue
        category = _SPELLINGS.get(re.sub("[^a-z]", "", Path(name).stem.lower()))
        if category is None:
            raise UserError(
                f"{path}: the name is no category. Expected {', '.join(f'{known}.xlsx' for known in CATEGORIES)}: "
                "rename the file, or remove it from the folder."
            )
        if category in workbooks:
            raise UserError(f"{path}: {workbooks[category]} is of the same category, {category}. Keep one of them.")
        workbooks[category] = Path(path)
    missing = [f"{category}.xlsx" for category in CATEGORIES if category not in workbooks]
    if missing:
        raise UserError(f"McBE's workbooks: {', '.join(missing)} missing among {len(files)} files. Add them.")
    return workbooks


def _read_workbook(path: Path, category: str, allowed: tuple[str, ...] | None) -> Iterator[dict | str]:
    """An item, or a fault in words, for each row; a fault alone where the rows cannot be read."""
    try:
        sheets = load_workbook(path, read_only=True, data_only=True).worksheets
    except Exception as error:  # openpyxl raises whatever zip and XML readers do
        raise UserError(f"{path}: cannot be read as an Excel workbook ({error}). Download it again.") from error
    rows = list(sheets[0].iter_rows(values_only=True))
    extra = [sheet.title for sheet in sheets[1:] if any(any(row) for row in sheet.iter_rows(values_only=True))]
    if extra:
        yield f"{path}: a second sheet, {extra[0]!r}, is not empty. Expected one sheet: remove the other."
        return
    header = [_text(cell) for cell in (rows[0] if rows else ())]
    missing = [column for column in _SHEET_COLUMNS if column not in header]
    if missing:
        yield f"{path}, row 1: no column {missing[0]!r}; the header is {header}. Expected {list(_SHEET_COLUMNS)}."
        return
    positions = {column: header.index(column) for column in _SHEET_COLUMNS}
    for number, cells in enumerate(rows[1:], start=2):
        if all(cell is None for cell in cells):
            continue
        row = {column: _text(cells[position]) for column, position in positions.items()}
        fault = _fault(row, allowed)
        yield f"{path}, row {number}, column {fault}" if fault else _item(row, category, number)


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _item(row: dict[str, str], category: str, number: int) -> dict[str, str | float]:
    return {
        "item_id": f"{category}-{number}",
        "category": category,
        "context": row["context"],
        "sentence": row["sentence"],
        "words": json.dumps([word.strip() for word in row["words"].split(_SEPARATOR)], ensure_ascii=False),
        "subcategory": _as_in_table_3(row["subtype"]),
        "explanation": row["explanation"],
        "severity": float(row["score"]),
    }


def _as_in_table_3(subtype: str) -> str:
    """ "Others" is spelled both ways in Chinese; Table 3 has 其它."""
    return "其它" if subtype == "其他" else subtype


def _fault(row: dict[str, str], allowed: tuple[str, ...] | None) -> str | None:
    """What is wrong with the first wrong cell: column, value, what was expected."""
    for column in ("sentence", "words", "subtype", "explanation", "score"):
        if not row[column]:
            return f"{column}: empty. Fill it in."
    if PLACEHOLDER not in row["sentence"]:
        return f"sentence: {row['sentence']!r} has no placeholder {PLACEHOLDER} (half-width brackets). Add it."
    if "," in row["words"]:
        return f"words: {row['words']!r} has a half-width comma. Separate words by the full-width {_SEPARATOR!r}."
    if not all(word.strip() for word in row["words"].split(_SEPARATOR)):
        return f"words: {row['words']!r} has an empty word. Remove the spare {_SEPARATOR!r}."
    if allowed and _as_in_table_3(row["subtype"]) not in allowed:
        return f"subtype: {row['subtype']!r} is none of the category's subcategories: {', '.join(allowed)}."
    try:
        score = float(row["score"])
    except ValueError:
        hint = " Use a half-width point for decimals." if re.search("[，,．。]", row["score"]) else ""
        return f"score: {row['score']!r} is no number. Expected 0 to 10.{hint}"
    if not (math.isfinite(score) and 0 <= score <= 10):
        return f"score: {row['score']!r} is outside 0 to 10."
    return None
