"""Answers to a described benchmark's questions, as choice responses."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.benchmarks.shared.predictions import chosen, log_unknown, match_options, one_file
from biasatlas.errors import UserError
from biasatlas.userfiles import read_csv_rows


def read_answers(step: Step) -> pd.DataFrame:
    """A response for each request, from one CSV with ``item`` and ``answer``.

    An answer is the text of an option as it is shown, whatever its case and spaces, or its letter; another one is "unparseable", an
    empty one "refused". An item without a row is "failed", rows of unknown items are logged by id. Raises UserError for an
    item with several rows.
    """
    items, requests = step.items, step.requests
    path = one_file(step.files, ".csv", f"{step.description.title}, format answers")
    found: dict[str, str] = {}
    for where, row in read_csv_rows(path, ("item", "answer")):
        if row["item"] in found:
            raise UserError(f"{where}: a second row of item {row['item']!r}. Keep one.")
        found[row["item"]] = row["answer"].strip()
    log_unknown(path, "items", sorted(found.keys() - set(items["item_id"])))
    asked = items.set_index("item_id").loc[requests["item_id"]].set_index(requests.index)
    text = requests["item_id"].map(found)
    labels = match_options(text.fillna(""), asked[list(LABELS)]).fillna(text.where(text.isin(LABELS)))
    cases = [text.isna(), text == "", labels.isna()]
    status = np.select(cases, ["failed", "refused", "unparseable"], "ok")
    return chosen(requests["request_id"], labels, LABELS, status, np.select(cases, ["no row", "", text], ""))


#: Formats of a user's own predictions.
FORMATS = {"answers": read_answers}
