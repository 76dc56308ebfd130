"""Decisions of a user's own, or of published outputs, as choice responses."""

import json
from collections import Counter, defaultdict
from functools import cache

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions.spec import DecisionsDescription
from biasatlas.benchmarks.shared.parsing import Answer
from biasatlas.benchmarks.shared.parsing.named import PARSERS, whole_answer
from biasatlas.benchmarks.shared.predictions import log_unknown, one_file
from biasatlas.columns import MASSES
from biasatlas.userfiles import read_csv_rows


def read_decisions(step: Step) -> pd.DataFrame:
    """A response for each request, from one CSV with ``item`` and ``answer``: a reply in the model's words, a row each.

    Rows of an item are its repeats, of which each answer has its share; an empty one is unresolved. An item whose rows are
    all empty, or that has none, is "failed"; rows of unknown items are logged by id.
    """
    description: DecisionsDescription = step.description
    path = one_file(step.files, ".csv", f"{description.title}, format decisions")
    labels, requests = list(description.labels), step.requests
    parser = PARSERS["label" if description.yes_no else "integer"]
    parsed = cache(lambda text: whole_answer(parser, text, labels))
    replies: defaultdict[str, list[str]] = defaultdict(list)
    for _, row in read_csv_rows(path, ("item", "answer")):
        replies[row["item"]].append(row["answer"].strip())
    log_unknown(path, "items", sorted(replies.keys() - set(requests["item_id"])))
    rows = []
    for request, item in zip(requests["request_id"], requests["item_id"], strict=True):
        said = replies[item]
        row = {"request_id": request, "repeat": 0, "status": "failed", "detail": "empty" if said else "no row"}
        if any(said):
            found: Counter[Answer | str] = Counter(parsed(text) if text else "unresolved" for text in said)
            shares = {outcome: count / len(said) for outcome, count in found.items()}
            row |= {"status": "ok", "detail": "", **{name: shares.get(name, 0.0) for name in MASSES}}
            row["probabilities"] = json.dumps([shares.get(place, 0.0) for place in range(len(labels))])
            row["replies"] = json.dumps([["ok" if text else "failed", text] for text in said], ensure_ascii=False)
        rows.append(row)
    return pd.DataFrame(rows, columns=["request_id", "repeat", "status", "detail", "probabilities", *MASSES, "replies"])


#: Formats of a user's own predictions.
FORMATS = {"decisions": read_decisions}
