"""Answers to BBQ's questions, published or one's own, as choice responses.

UnifiedQA's are texts beside the questions; those of RoBERTa and DeBERTaV3 are scores of three options.
"""

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.benchmarks.shared.predictions import chosen, log_unknown, match_options, one_file
from biasatlas.errors import UserError
from biasatlas.userfiles import finite, listed, read_csv_rows, read_json_lines, shown

_COLUMNS = {
    "unifiedqa_arc": "unifiedqa-t5-11b_pred_arc",
    "unifiedqa_race": "unifiedqa-t5-11b_pred_race",
    "unifiedqa_question_only": "unifiedqa-t5-11b_pred_qonly",
}
_MODELS = {
    "roberta_base": "roberta-base-race",
    "roberta_large": "roberta-large-race",
    "deberta_base": "deberta-v3-base-race",
    "deberta_large": "deberta-v3-large-race",
}
_OPTIONS = ["ans0", "ans1", "ans2"]


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each request, from UnifiedQA (:func:`read_unifiedqa`) or a model in ``df_bbq.csv``.

    UnifiedQA's other five categories are separate releases, ``{name}_more``.
    """
    if step.release in _MODELS:
        return _option_scores(step, _MODELS[step.release])
    name = step.release.removesuffix("_more")
    return _unifiedqa(step, _COLUMNS[name], context_shown=name != "unifiedqa_question_only")


def read_unifiedqa(step: Step) -> pd.DataFrame:
    """A response for each request, from files ``preds_{category}.jsonl`` whose field ``column`` holds the answers.

    An answer equal to no option is "unparseable". An item whose prediction is missing, doubled, has other than three
    options or belongs to another category is "failed", with the reason in ``detail``; predictions of unknown items are
    logged by id. Items of a category without a file are "not_applicable", and so are disambiguated items where no
    context was shown.
    """
    return _unifiedqa(step, step.column)


def _unifiedqa(step: Step, column: str, context_shown: bool = True) -> pd.DataFrame:
    items, requests = step.items, step.requests
    predictions = _predictions(step.files, items, column or _only_column(step.files))
    rows = requests[["request_id", "item_id"]].merge(
        items[["item_id", "category", "condition", *LABELS]], on="item_id", how="left"
    )
    rows = rows.merge(
        predictions.drop_duplicates("item_id")[["item_id", "text", "problem"]], on="item_id", how="left", indicator=True
    )
    rows.loc[rows["_merge"] == "left_only", "problem"] = "no prediction"
    rows.loc[rows["text"].isna() & rows["problem"].isna(), "problem"] = f"no field {column}"
    unpublished = ~rows["category"].isin(predictions["file_category"])
    if not context_shown:
        unpublished |= rows["condition"] == "disambig"
    failed = rows["problem"].notna() & ~unpublished
    for problem, group in rows[failed].groupby("problem"):
        logging.warning("%s for %d items, first %s", problem, len(group), group["item_id"].iloc[0])

    usable = ~failed & ~unpublished
    labels = match_options(rows["text"].where(usable, ""), rows[list(LABELS)])
    unmatched = usable & labels.isna()
    status = np.select([unpublished, failed, unmatched], ["not_applicable", "failed", "unparseable"], "ok")
    detail = np.select([unpublished, failed, unmatched], ["not published", rows["problem"], rows["text"]], "")
    return chosen(rows["request_id"], labels, LABELS, status, detail)


def read_option_scores(step: Step) -> pd.DataFrame:
    """A response for each request, from one CSV with a score for each option, as ``df_bbq.csv`` of the authors.

    Its columns are ``index`` and ``cat`` (the question), ``model``, ``ans0``, ``ans1`` and ``ans2``; the option of the
    highest score is the answer, and where two share it, there is none ("unparseable"). ``column`` names one of several
    models. An item without a row is "failed", rows of unknown items are logged by id.

    Raises UserError for a file of another layout, several models of which none is named, a score that is no number, and
    an item with several rows.
    """
    return _option_scores(step, step.column)


def _option_scores(step: Step, column: str) -> pd.DataFrame:
    path, requests = one_file(step.files, ".csv", "BBQ, format option_scores"), step.requests
    rows = list(read_csv_rows(path, ("index", "cat", "model", *_OPTIONS)))
    models = sorted({row["model"] for _, row in rows})
    if column not in models if column else len(models) > 1:
        raise UserError(
            f"{path}: it has the models {listed(models)}. Name one of them as `column` in the model's entry."
        )
    scores: dict[str, list[float]] = {}
    for where, row in rows:
        if column in ("", row["model"]):
            item_id = f"{row['cat']}/{row['index']}"
            if item_id in scores:
                raise UserError(f"{where}: a second row of {item_id} by {row['model']}. Keep one.")
            scores[item_id] = [_score(where, row, option) for option in _OPTIONS]
    log_unknown(path, "items", scores.keys() - set(step.items["item_id"]))
    known = requests["item_id"].isin(scores)
    table = np.array([scores.get(item, [0.0] * len(LABELS)) for item in requests["item_id"]])
    best = table == table.max(axis=1, keepdims=True)
    one = best.sum(axis=1) == 1  # a tie is no answer
    picked = pd.Series(np.asarray(LABELS)[best.argmax(axis=1)], requests.index, dtype=object).where(one & known)
    status = np.select([~known, ~one], ["failed", "unparseable"], "ok")
    detail = np.select([~known, ~one], ["no row", "two options of the same score"], "")
    return chosen(requests["request_id"], picked, LABELS, status, detail)


#: Formats of a user's own predictions.
FORMATS = {"unifiedqa": read_unifiedqa, "option_scores": read_option_scores}


def _score(where: str, row: dict[str, str], option: str) -> float:
    value = finite(row[option])
    if np.isnan(value):
        raise UserError(f"{where}: {option} is {shown(row[option])}, expected a number.")
    return value


def _prediction_files(files: Mapping[str, Path]) -> list[str]:
    matches = sorted(file for file in files if re.fullmatch(r"preds_.*\.jsonl", Path(file).name))
    if not matches:
        raise UserError(f"BBQ's predictions: expected preds_*.jsonl, found {listed(files)}. Fetch the source again.")
    return matches


def _only_column(files: Mapping[str, Path]) -> str:
    """The one field of the first prediction whose name has "pred" in it."""
    where, row = next(iter(read_json_lines(files[_prediction_files(files)[0]])))
    columns = [name for name in row if "pred" in name]
    if len(columns) != 1:
        raise UserError(
            f"{where}: predictions may be in {listed(columns)}. Name the field as `column` in the model's entry."
        )
    return columns[0]


def _predictions(files: Mapping[str, Path], items: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row per prediction: ``item_id``, ``text``, ``problem`` (missing where it has none), ``file_category``."""
    rows = [
        _prediction(where, row, Path(file).stem.removeprefix("preds_"), column)
        for file in _prediction_files(files)
        for where, row in read_json_lines(files[file])
    ]
    predictions = pd.DataFrame(rows, dtype=object)
    log_unknown("predictions", "items", predictions["item_id"][~predictions["item_id"].isin(items["item_id"])])
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
