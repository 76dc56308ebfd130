"""UnifiedQA's published answers, text beside each question, as choice responses."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.bbq.vocabulary import LABELS

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
    predictions = pd.concat(
        [_read(path, Path(file).stem.removeprefix("preds_")) for file, path in sorted(files.items())],
        ignore_index=True,
    )
    predictions["text"] = predictions.get(_COLUMNS[name])
    unknown = predictions["item_id"][~predictions["item_id"].isin(items["item_id"])]
    if len(unknown):
        logging.warning("%s: %d predictions of unknown items, first %s", name, len(unknown), unknown.iloc[0])
    doubled = predictions["item_id"].duplicated(keep=False)
    predictions.loc[doubled, "problem"] = "more than one prediction"
    return predictions


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


def _read(path: Path, category: str) -> pd.DataFrame:
    rows = pd.read_json(path, lines=True, dtype=False)
    offered = rows.reindex(columns=[*_OPTIONS, "ans3"]).notna()
    three = offered[_OPTIONS].all(axis=1) & ~offered["ans3"]
    other = rows["category"] != category
    rows["item_id"] = rows["category"] + "/" + rows["example_id"].astype(str)
    # A row of another category must not stand in for that category's own file: it names no item.
    rows.loc[other, "item_id"] = category + "/?" + rows["item_id"]
    rows["file_category"] = category
    rows["problem"] = pd.Series(None, rows.index, dtype=object).mask(~three, "not three options")
    return rows
