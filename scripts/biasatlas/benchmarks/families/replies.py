"""A user's file of replies, or one of published outputs, as choice responses."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.parsing import Answer
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.benchmarks.shared.predictions import log_unknown, one_file
from biasatlas.columns import MASSES
from biasatlas.userfiles import read_csv_rows


def read_replies(step: Step, parsers: Mapping[str, Parser]) -> pd.DataFrame:
    """A response for each request, from one CSV with ``item`` and ``answer``: a reply in the model's words, a row each.

    Rows of unknown items are logged by id; see :func:`responses`.
    """
    path = one_file(step.files, ".csv", f"{step.description.title}, a file of replies")
    replies: defaultdict[str, list[str]] = defaultdict(list)
    for _, cells in read_csv_rows(path, ("item", "answer")):
        replies[cells["item"]].append(cells["answer"].strip())
    log_unknown(path, "items", sorted(replies.keys() - set(step.requests["item_id"])))
    return responses(step.requests, replies, parsers)


def responses(
    requests: pd.DataFrame, replies: Mapping[str, Sequence[str]], parsers: Mapping[str, Parser]
) -> pd.DataFrame:
    """A response for each request, from the ``replies`` to its item, which are its repeats.

    Each answer has its share of them; an empty one is unresolved. An item whose replies are all empty, or that has
    none, is "failed". ``parsers`` are those that requests may name.
    """
    parsed = cache(lambda parser, text, asked: parsers[parser].whole(text, asked_options(*asked)))
    rows = []
    for request in requests[["request_id", "item_id", "parser", "labels", "options"]].itertuples():
        said, asked = replies.get(request.item_id, ()), (request.labels, request.options)
        row: dict[str, object] = {
            "request_id": request.request_id,
            "repeat": 0,
            "status": "failed",
            "detail": "empty" if said else "no row",
        }
        if any(said):
            found: Counter[Answer | str] = Counter(
                parsed(request.parser, text, asked) if text else "unresolved" for text in said
            )
            shares = {outcome: count / len(said) for outcome, count in found.items()}
            row |= {"status": "ok", "detail": "", **{name: shares.get(name, 0.0) for name in MASSES}}
            row["probabilities"] = json.dumps([shares.get(place, 0.0) for place in range(len(asked_options(*asked)))])
            row["replies"] = json.dumps([["ok" if text else "failed", text] for text in said], ensure_ascii=False)
        rows.append(row)
    return pd.DataFrame(rows, columns=["request_id", "repeat", "status", "detail", "probabilities", *MASSES, "replies"])
