"""Read McBE's workbooks, one per category, into one table of items."""

import json
import logging
import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from openpyxl import load_workbook
from openpyxl.cell.cell import ERROR_CODES

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mcbe import CATEGORIES, CATEGORY_NAMES, ITEM_COLUMNS, PLACEHOLDER, TASKS, subcategories
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.userfiles import shown

#: Columns of a workbook.
_SHEET_COLUMNS = ("context", "sentence", "words", "subtype", "explanation", "score")
_SEPARATOR = "，"

#: Letters of a workbook's name, as published or spelled otherwise -> category.
_SPELLINGS = {
    "socioeco": "socioeconomic_status",
    "socioeconomic": "socioeconomic_status",
    "ses": "socioeconomic_status",
    "lgbt": "lgbtq",
    "lgbtqia": "lgbtq",
} | {category.replace("_", ""): category for category in CATEGORIES}
#: Sizes that the printed scores imply where they differ from Table 6 by one instance.
_ALSO_ACCEPTED = {"religion": 269, "health": 270}
_FAULTS_SHOWN = 20
#: Column -> tasks that leave out an instance with a fault in it; a fault in any other column concerns all tasks.
_LOST = {"context": ("PC", "SC", "SS"), "subtype": ("SC",), "explanation": ("BA",), "score": ("BS",)}
#: Tasks that compare sentences with different words.
_COMPARE_WORDS = ("PC", "SS")


def read_items(step: Step) -> pd.DataFrame:
    """One row per instance of the run's ``categories`` (of all, if it has none), in the paper's order, then by row.

    ``step.files`` maps names of workbooks (``gender.xlsx``, in any folder) to paths on disk. Workbooks of other
    categories are not opened; one of no category, as the published ``test.xlsx``, is named in a warning; other files
    are ignored. ``item_id`` is category and row of the sheet; ``words`` a JSON list in the order given, repeats kept;
    ``severity`` the annotators' score, 0 to 10; ``context`` may be empty; ``sentence_id`` is the first item with the
    same sentence. Repeated rows are kept under ids of their own.

    Raises :class:`UserError` with every fault (file, row, column): a workbook that is missing, a second sheet that is
    not empty, a missing column, an empty cell, words separated by another comma, a sentence without the placeholder
    ``[PLH]``, a subtype not in Table 3 for the category (Appearance, where the table is not legible, takes any), a
    score that is no number from 0 to 10. With ``skip_invalid`` a row with such a cell is an item whose ``fault`` says
    so. With ``cells: as_authors`` commas, placeholders, subtypes and empty explanations are what the authors' code
    makes of them.
    """
    wanted, skip_invalid = _wanted(step), step.run.get("skip_invalid", False)
    as_authors = step.run.get("cells") == "as_authors"
    workbooks = _by_category(step.files, wanted)
    allowed = subcategories(step.resources)
    items, faults = [], []
    for category in wanted:
        for item_or_fault in _read_workbook(workbooks[category], category, allowed.get(category, ()), as_authors):
            if isinstance(item_or_fault, str):
                faults.append(item_or_fault)
            else:
                items.append(item_or_fault)
    # A message has the whole path, an item the file's name: folders differ from machine to machine.
    invalid = [f"{workbooks[item['category']].parent / item['fault']}" for item in items if item["fault"]]
    if faults or (invalid and not skip_invalid):
        hint = (
            ""
            if faults
            else (
                " To go on without these instances in the tasks that it matters to, set `skip_invalid: true`; to read "
                "such cells as the authors' code does, `cells: as_authors`."
            )
        )
        raise UserError(_first(faults + ([] if skip_invalid else invalid)) + hint)
    if invalid:
        logging.warning(
            "mcbe: %d instances are left out of tasks, counted as failed:\n%s", len(invalid), _first(invalid)
        )
    table = pd.DataFrame(items)
    table["sentence_id"] = table.groupby(["category", "sentence"])["item_id"].transform("first")
    return table[list(ITEM_COLUMNS)]


def _first(faults: list[str]) -> str:
    more = f"\n... and {len(faults) - _FAULTS_SHOWN} more." if len(faults) > _FAULTS_SHOWN else ""
    return "\n".join(faults[:_FAULTS_SHOWN]) + more


def check_items(step: Step) -> list[str]:
    """Compare each category's number of instances with Table 6 (4,077 in all), for the data as published.

    Returns a remark for each accepted difference: 269 for Religion and 270 for Health, which the printed scores imply,
    and with ``skip_invalid`` any; and one where words are joined by 、. Raises :class:`UserError` for any other.
    """
    counts = step.items["category"].value_counts()
    sizes = published_sizes(step.resources)
    remarks, faults = [], []
    joined = step.items.loc[step.items["words"].str.contains("、"), "item_id"]
    if len(joined):
        remarks.append(
            f"{joined.iloc[0]}: its words are joined by 、 and count as one (instances of this kind: {len(joined)}). "
            f"If they are several, separate them by {_SEPARATOR!r}"
        )
    for category in _wanted(step):
        count = int(counts.get(category, 0))
        if count == sizes[category]:
            continue
        text = f"{CATEGORY_NAMES[category]}: {count} instances where Table 6 has {sizes[category]}"
        (remarks if step.run.get("skip_invalid") or count == _ALSO_ACCEPTED.get(category) else faults).append(text)
    if faults:
        raise UserError(
            "; ".join(faults) + ". These are not the workbooks that the paper counts: download them again, set "
            "`skip_invalid: true` to measure on them all the same, or `data: sample` to try the workflow."
        )
    return remarks


def check_workbooks(folder: str) -> None:
    """Raise UserError for a workbook in the user's ``folder`` that cannot be read, or lacks a column or all rows."""
    for path in sorted(Path(folder).glob("*.xlsx")):
        category = _category(path.name)
        fault = next(_read_workbook(path, category, (), True), None) if category else None
        if isinstance(fault, str):
            raise UserError(fault)


#: Checks of the user's own files, made before any job: ``data`` is their folder.
CHECKS = {"data": check_workbooks}


def _wanted(step: Step) -> list[str]:
    """The categories of the run, in the paper's order."""
    chosen = step.run.get("categories")
    return [category for category in CATEGORIES if chosen is None or category in chosen]


def published_sizes(resources: Resources) -> dict[str, int]:
    """Category -> instances by Table 6."""
    table = resources.published("mcbe_composition").astype({"instances": int})
    sizes = table.groupby("category")["instances"].sum()
    return {category: int(sizes[name]) for category, name in CATEGORY_NAMES.items()}


def _by_category(files: Mapping[str, Path], wanted: Collection[str]) -> dict[str, Path]:
    workbooks: dict[str, Path] = {}
    for name, path in sorted(files.items()):
        if Path(name).suffix.lower() != ".xlsx":
            continue
        category = _category(name)
        if category is None:
            logging.warning("mcbe: %s is skipped: its name is no category (%s)", path, ", ".join(CATEGORIES))
            continue
        if category in workbooks:
            raise UserError(f"{path}: {workbooks[category]} is of the same category, {category}. Keep one of them.")
        workbooks[category] = Path(path)
    missing = [f"{category}.xlsx" for category in wanted if category not in workbooks]
    if missing:
        raise UserError(f"McBE's workbooks: {', '.join(missing)} missing among {len(files)} files. Add them.")
    return workbooks


def _category(name: str) -> str | None:
    """The category of a workbook by its name."""
    return _SPELLINGS.get(re.sub("[^a-z]", "", Path(name).stem.lower()))


def _read_workbook(path: Path, category: str, allowed: Sequence[str], as_authors: bool) -> Iterator[dict | str]:
    """Yield an item for each row, with its fault if it has one; or only a message where the rows cannot be read."""
    (_, rows), *others = _sheets(path)
    extra = [title for title, cells in others if any(map(any, cells))]
    if extra:
        yield f"{path}: a second sheet, {extra[0]!r}, is not empty. Expected one sheet: remove the other."
        return
    header = rows[0] if rows else []
    for column in _SHEET_COLUMNS:
        if header.count(column) != 1:
            fault = f"{header.count(column)} columns {column!r}" if column in header else f"no column {column!r}"
            yield f"{path}, row 1: {fault}; the header is {shown(header)}. Expected {', '.join(_SHEET_COLUMNS)}."
            return
    if not any(map(any, rows[1:])):
        yield f"{path}: no rows below the header. Expected the category's instances: complete the workbook."
    for number, cells in enumerate(rows[1:], start=2):
        if any(cells):
            row = dict.fromkeys(_SHEET_COLUMNS, "") | dict(zip(header, cells, strict=False))
            row["subtype"] = _as_in_table_3(row["subtype"], allowed)
            faults = list(_faults(row, allowed, as_authors))
            lost = {task for _, tasks in faults for task in tasks}
            yield {
                "item_id": f"{category}-{number}",
                "category": category,
                "fault": f"{path.name}, row {number}, column {'; column '.join(told for told, _ in faults)}"
                if faults
                else "",
                "fault_in": " ".join(task for task in TASKS if task in lost),
                **_contents(row, lost),
            }


def _sheets(path: Path) -> list[tuple[str, list[list[str]]]]:
    """Title and rows of each sheet."""
    try:
        values, written = (load_workbook(path, read_only=True, data_only=data).worksheets for data in (True, False))
        if not values:
            raise ValueError("it has no sheet")
        return [(sheet.title, _rows(sheet, formulas)) for sheet, formulas in zip(values, written, strict=True)]
    except Exception as error:  # openpyxl raises whatever zip and XML readers do
        raise UserError(
            f"{path}: cannot be read as an Excel workbook ({error}). Save it as .xlsx, or download it again."
        ) from error


def _rows(values: Any, formulas: Any) -> list[list[str]]:
    """The cells of a sheet as text: their values, and a formula as written where its value was never computed."""
    for sheet in (values, formulas):
        sheet.reset_dimensions()  # rows beyond the range that a file declares would be lost
    pairs = zip(values.iter_rows(values_only=True), formulas.iter_rows(values_only=True), strict=True)
    return [[_text(old if new is None else new) for new, old in zip(*cells, strict=True)] for cells in pairs]


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _contents(row: dict[str, str], lost: Collection[str]) -> dict[str, str | float]:
    """A row's columns of items; its texts are dropped if no task asks about it."""
    texts = dict.fromkeys(_SHEET_COLUMNS, "") if len(lost) == len(TASKS) else row
    return {
        "context": texts["context"],
        "sentence": texts["sentence"],
        "words": json.dumps([word.strip() for word in texts["words"].split(_SEPARATOR)], ensure_ascii=False),
        "subcategory": row["subtype"],
        "explanation": texts["explanation"],
        "severity": math.nan if "BS" in lost else float(row["score"]),
    }


def _as_in_table_3(subtype: str, allowed: Sequence[str]) -> str:
    """The name in ``allowed`` that is ``subtype`` but for width, blanks and the spelling of "others"; else as it is."""
    return next((name for name in allowed if _plain(name) == _plain(subtype)), subtype)


def _plain(subtype: str) -> str:
    return "".join(unicodedata.normalize("NFKC", subtype).split()).replace("其他", "其它")


def _faults(row: dict[str, str], allowed: Sequence[str], as_authors: bool) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield a message for each wrong cell (column, value, what was expected), and the tasks that it matters to."""
    for column in _SHEET_COLUMNS:
        cell, lost = row[column], _LOST.get(column, TASKS)
        if cell.startswith("="):
            yield (
                f"{column}: the formula {shown(cell)} has no value. Open and save the workbook, or write the value.",
                lost,
            )
        elif cell in ERROR_CODES:
            yield f"{column}: {cell} is an error of the spreadsheet. Correct the cell.", lost
        elif not cell and column != "context" and not (as_authors and column in ("explanation", "subtype")):
            yield f"{column}: empty. Fill it in.", lost
        elif column == "score" and (fault := _score_fault(cell)):
            yield fault, lost
        elif cell and not as_authors:
            yield from _format_faults(column, cell, allowed)


def _format_faults(column: str, cell: str, allowed: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the faults of a cell that the authors' code would take for something else, and their tasks."""
    words = [word.strip() for word in cell.split(_SEPARATOR)]
    if column == "sentence" and PLACEHOLDER not in cell:
        said = f"sentence: {shown(cell)} has no placeholder {PLACEHOLDER} (half-width brackets). Add it."
        yield said, TASKS if "PLH" in cell else _COMPARE_WORDS
    if column == "words" and "," in cell:
        yield f"words: {shown(cell)} has a half-width comma. Separate words by the full-width {_SEPARATOR!r}.", TASKS
    elif column == "words" and not all(words):
        said = f"words: {shown(cell)} has an empty word. Remove the spare {_SEPARATOR!r}."
        yield said, _COMPARE_WORDS if words[0] else TASKS
    if column == "subtype" and allowed and cell not in allowed:
        said = f"subtype: {shown(cell)} is none of the category's subcategories: {', '.join(allowed)}."
        yield said, _LOST["subtype"]


def _score_fault(cell: str) -> str:
    try:
        score = float(cell)
    except ValueError:
        hint = " Use a half-width point for decimals." if re.search("[，,．。]", cell) else ""
        return f"score: {shown(cell)} is not a number. Expected 0 to 10.{hint}"
    return "" if math.isfinite(score) and 0 <= score <= 10 else f"score: {shown(cell)} is outside 0 to 10."
