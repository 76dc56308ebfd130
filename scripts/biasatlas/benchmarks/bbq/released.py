"""UnifiedQA's published answers, text beside each question, as choice responses."""

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.bbq.vocabulary import LABELS
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_json_lines, shown

_COLUMNS = {
    "unifiedqa_arc": "unifiedqa-t5-11b_pred_arc",
    "unifiedqa_race": "unifiedqa-t5-11b_pred_race",
    "unifiedqa_question_only": "unifiedqa-t5-11b_pred_qonly",
}
_OPTIONS = ["ans0", "ans1", "ans2"]


def import_responses(
    name: str, files: Mapping[str, Path], items: pd.DataFrame, requests: pd.DataFrame, task: str
) -> pd.DataFrame:
    """A response for each request, from ``results/UnifiedQA/preds_{category}.jsonl``.

    An answer equal to no option is "unparseable". An item whose prediction is missing, doubled, has other than three
    options or belongs to another category is "failed", with the reason in ``detail``; predictions of unknown items are
    logged. Items of a category without a file are "not_applicable", and so are disambiguated items for the
    question-only baseline, which never saw the context.
    """
    predictions = _predictions(name, files, items)
    rows = requests[["request_id", "item_id"]].merge(
        items[["item_id", "category", "condition", *LABELS]], on="item_id", how="left"
    )
    rows = rows.merge(
        predictions.drop_duplicates("item_id")[["item_id", "text", "problem"]], on="item_id", how="left", indicator=True
    )
    rows.loc[rows["_merge"] == "left_only", "problem"] = "no prediction"
    rows.loc[rows["text"].isna() & rows["problem"].isna(), "problem"] = f"no field {_COLUMNS[name]}"
    unpublished = ~rows["category"].isin(predictions["file_category"])
    if name == "unifiedqa_question_only":
        unpublished |= rows["condition"] == "disambig"
    failed = rows["problem"].notna() & ~unpublished
    for problem, group in rows[failed].groupby("problem"):
        logging.warning("%s: %s for %d items, first %s", name, problem, len(group), group["item_id"].iloc[0])

    usable = ~failed & ~unpublished
    chosen = match_options(rows["text"].where(usable, ""), rows[list(LABELS)])
    one_hot = {label: json.dumps([float(label == other) for other in LABELS]) for label in LABELS}
    unmatched = usable & chosen.isna()
    return pd.DataFrame(
        {
            "request_id": rows["request_id"],
            "repeat": 0,
            "status": np.select([unpublished, failed, unmatched], ["not_applicable", "failed", "unparseable"], "ok"),
            "detail": np.select([unpublished, failed, unmatched], ["not published", rows["problem"], rows["text"]], ""),
            "probabilities": chosen.map(one_hot).where(chosen.notna(), json.dumps([0.0] * 3)).where(usable),
            "refused": pd.Series(0.0, rows.index).where(usable),
            "unparseable": unmatched.astype(float).where(usable),
            "unresolved": pd.Series(0.0, rows.index).where(usable),
        }
    )


def _predictions(name: str, files: Mapping[str, Path], items: pd.DataFrame) -> pd.DataFrame:
    """A row per published prediction: ``item_id``, ``text``, ``problem`` (missing where it has none), ``file_category``."""
    matches = sorted(file for file in files if re.fullmatch(r"preds_.*\.jsonl", Path(file).name))
    if not matches:
        raise UserError(f"BBQ, {name}: expected preds_*.jsonl, found {listed(files)}. Fetch the source again.")
    rows = [
        _prediction(where, row, Path(file).stem.removeprefix("preds_"), _COLUMNS[name])
        for file in matches
        for where, row in read_json_lines(files[file])
    ]
    predictions = pd.DataFrame(rows, dtype=object)
    unknown = predictions["item_id"][~predictions["item_id"].isin(items["item_id"])]
    if len(unknown):
        logging.warning("%s: %d predictions of unknown items, first %s", name, len(unknown), unknown.iloc[0])
    doubled = predictions["item_id"].duplicated(keep=False)
    predictions.loc[doubled, "problem"] = "more than one prediction"
    return predictions


def _prediction(where: str, row: dict[str, Any], category: str, column: str) -> dict[str, str | None]:
    """One line of a file of ``category``; its text may be missing."""
    for key, types, expected in (
        ("category", (str,), "a category"),
        ("example_id", (int,), "a whole number"),
        (column, (str, type(None)), "a text"),
    ):
        if type(row.get(key)) not in types:
            fault = f"{key} is {shown(row[key])}" if key in row else f"no {key}"
            raise UserError(f"{where}: {fault}. Expected {expected}: fetch the file again.")
    item_id = f"{row['category']}/{row['example_id']}"
    three = all(row.get(option) is not None for option in _OPTIONS) and row.get("ans3") is None
    return {
        # A row of another category must not stand in for that category's own file: it names no item.
        "item_id": item_id if row["category"] == category else f"{category}/?{item_id}",
        "text": row.get(column),
        "problem": None if three else "not three options",
        "file_category": category,
    }


def match_options(text: pd.Series, options: pd.DataFrame) -> pd.Series:
    """The column of ``options`` whose text equals ``text``.

    Case, spaces, braces, apostrophes and a final full stop do not matter. Missing where no option or more than one
    is equal: an answer that was not offered is never read as one that was.
    """
    text = _normal(text).str.replace(r"pantsu$", "pantsuit", regex=True)  # UnifiedQA's vocabulary cuts "pantsuit"
    equal = np.column_stack([text == _normal(options[label]) for label in options])
    labels = pd.Series(np.asarray(options.columns)[equal.argmax(axis=1)], text.index, dtype=object)
    return labels.where(equal.sum(axis=1) == 1)


def _normal(text: pd.Series) -> pd.Series:
    text = text.str.lower().str.replace(r"[{}'’]", "", regex=True)
    return text.str.split().str.join(" ").str.rstrip(".")
