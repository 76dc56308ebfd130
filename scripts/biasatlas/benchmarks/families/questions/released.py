"""Answers to a described benchmark's questions, as choice responses."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.logs import read_log
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.benchmarks.shared.predictions import chosen, log_unknown, match_options, one_file
from biasatlas.errors import UserError
from biasatlas.userfiles import read_csv_rows


def read_answers(step: Step) -> pd.DataFrame:
    """A response for each request, from one CSV with ``item`` and ``answer``.

    An answer is the text of an option, whatever its case and spaces, or its letter; another one is "unparseable", an empty one
    "refused". A letter means the option that the row shows under it in its columns ``A``, ``B`` and ``C``; a file without these
    columns means the order of the data. An item without a row is "failed", rows of unknown items are logged by id. Raises
    UserError for an item with several rows, for options that are not the item's, and for a letter without these columns where
    the benchmark shuffles its options: nobody knows which order it is of.
    """
    items, requests = step.items, step.requests
    path = one_file(step.files, ".csv", f"{step.description.title}, format answers")
    found: dict[str, str] = {}
    options = items.set_index("item_id")[list(LABELS)]
    rows = list(read_csv_rows(path, None))
    shown = bool(rows) and set(LABELS) <= rows[0][1].keys()
    # A benchmark that reads its items by code of its own has no such key: it never shuffles.
    shuffled = getattr(step.description, "shuffle", False)
    for where, row in read_csv_rows(path, ("item", "answer", *(LABELS if shown else ()))):
        if row["item"] in found:
            raise UserError(f"{where}: a second row of item {row['item']!r}. Keep one.")
        answer = row["answer"].strip()
        if answer in LABELS and shown and row["item"] in options.index:
            _check_options(where, row, options.loc[row["item"]])
            answer = row[answer]
        elif answer in LABELS and not shown and shuffled:
            raise UserError(
                f"{where}: answer {answer!r} is a letter, and {step.description.title} shows each item's options in an order of "
                "its own. Give the option's text, or add columns A, B and C with the options as the model saw them."
            )
        found[row["item"]] = answer
    log_unknown(path, "items", sorted(found.keys() - set(items["item_id"])), len(found))
    asked = options.loc[requests["item_id"]].set_index(requests.index)
    text = requests["item_id"].map(found)
    labels = match_options(text.fillna(""), asked).fillna(text.where(text.isin(LABELS)))
    cases = [text.isna(), text == "", labels.isna()]
    status = np.select(cases, ["failed", "refused", "unparseable"], "ok")
    return chosen(requests["request_id"], labels, LABELS, status, np.select(cases, ["no row", "", text], ""))


def _check_options(where: str, row: Mapping[str, str], options: pd.Series) -> None:
    """Raise UserError where the options that a row shows are not those of its item."""
    told = pd.Series([row[label] for label in LABELS])
    places = match_options(told, pd.DataFrame([options] * len(LABELS), index=told.index))
    if sorted(places.dropna()) != list(LABELS):
        raise UserError(
            f"{where}: item {row['item']!r} shows the options {list(told)}, the data have {list(options)}. Give both from "
            "the same version of the data."
        )


#: Formats of a user's own predictions.
FORMATS = {"answers": read_answers, "log": read_log}
