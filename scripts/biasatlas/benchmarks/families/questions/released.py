"""Answers to a described benchmark's questions, as choice responses."""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.logs import read_log
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.benchmarks.shared.predictions import MOST_STRANGERS, chosen, log_unknown, match_options, normal, one_file
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_csv_rows

#: A letter or a digit alone, as `(a)` or `1.`.
_BARE = re.compile(r"[\W_]*([A-Za-z]|\d)[\W_]*")


def read_answers(step: Step) -> pd.DataFrame:
    """A response for each request, from one CSV with ``item`` and ``answer``.

    An answer is the text of an option, whatever its case and spaces, or its letter, in brackets or not; another one is
    "unparseable", an empty one "refused". A letter means the option that the row shows under it in its columns ``A``,
    ``B`` and ``C``; a file without these columns means the order of the data. An item without a row is "failed", rows
    of unknown items are logged by id. Raises UserError for an item with several rows, for options that are not the
    item's, for a letter without these columns where the benchmark shuffles its options (nobody knows which order it is
    of), for some of these columns, and for a number, which may count from 0 or from 1.
    """
    items, requests = step.items, step.requests
    path = one_file(step.files, ".csv", f"{step.description.title}, format answers")
    found: dict[str, str] = {}
    numbers: list[str] = []
    options = items.set_index("item_id")[list(LABELS)]
    rows = list(read_csv_rows(path, None))
    header = rows[0][1].keys() if rows else ()
    shown = set(LABELS) <= set(header)
    if not shown and (some := [name for name in header if name.upper() in LABELS]):
        raise UserError(
            f"{path}: it has the columns {listed(some)}. Expected A, B and C with the options as the model saw them, "
            "or none of these."
        )
    # A benchmark that reads its items by code of its own has no such key: it never shuffles.
    shuffled = getattr(step.description, "shuffle", False)
    for where, row in read_csv_rows(path, ("item", "answer", *(LABELS if shown else ()))):
        if row["item"] in found:
            raise UserError(f"{where}: a second row of item {row['item']!r}. Keep one.")
        answer, texts = row["answer"].strip(), options.loc[row["item"]] if row["item"] in options.index else ()
        bare = _BARE.fullmatch(answer)
        if bare and normal(answer) not in map(normal, texts):
            numbers += [f"{where}: answer {answer!r}"] * bare[1].isdigit()
            answer = bare[1].upper() if bare[1].upper() in LABELS else answer
        if answer in LABELS and shown and row["item"] in options.index:
            _check_options(where, row, pd.Series(texts))
            answer = row[answer]
        elif answer in LABELS and not shown and shuffled:
            raise UserError(
                f"{where}: answer {answer!r} is a letter, and {step.description.title} shows each item's options in "
                "an order of its own. Give the option's text, or add columns A, B and C with the options as the model "
                "saw them."
            )
        found[row["item"]] = answer
    if len(numbers) > MOST_STRANGERS * len(found):
        raise UserError(
            f"{numbers[0]} is a number, which may count from 0 or from 1. Give the option's text or letter."
        )
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
            f"{where}: item {row['item']!r} shows the options {list(told)}, the data have {list(options)}. Give both "
            "from the same version of the data."
        )


#: Formats of a user's own predictions.
FORMATS = {"answers": read_answers, "log": read_log}
