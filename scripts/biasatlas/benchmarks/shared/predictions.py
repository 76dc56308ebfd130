"""Functions for reading published or users' predictions, replies in words, and responses of another run."""

import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.parsing import Answer
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.columns import MASSES
from biasatlas.errors import UserError
from biasatlas.files import read_responses
from biasatlas.userfiles import listed, read_csv_rows

_UNSEEN = re.compile(r"[{}'’]")
#: The share of a user's predictions that may belong to no item or request.
MOST_STRANGERS = 0.05


def one_file(files: Mapping[str, Path], suffix: str, what: str) -> Path:
    """The one of ``files`` with ``suffix``. Raises UserError, naming ``what`` is wanted, for none or several."""
    matches = [name for name in files if name.endswith(suffix)]
    if len(matches) != 1:
        found = listed(matches or files) if matches or len(files) == 1 else f"none among {len(files)} files"
        raise UserError(f"{what}: expected one file *{suffix}, found {found}. Name the one to read.")
    return files[matches[0]]


def log_unknown(where: object, what: str, ids: Iterable[str], total: int | None = None) -> None:
    """Log the ids of predictions that belong to no item or request; they are left out.

    Raises UserError if they are more than 5% of ``total``: predictions and data are then of different versions.
    """
    ids = list(dict.fromkeys(map(str, ids)))
    if total is not None and len(ids) > MOST_STRANGERS * total:
        raise UserError(
            f"{where}: {len(ids)} of {total} {what} are no item's, first {ids[0]}, and at most {MOST_STRANGERS:.0%} "
            "may be. Take the predictions, and as `data` the data that they are of."
        )
    if total is not None:
        logging.info("%s: %d of %d %s are of items, %d of none", where, total - len(ids), total, what, len(ids))
    if ids:
        logging.warning("%s: %d %s that are no item's, left out: %s", where, len(ids), what, ", ".join(ids))


def read_own_responses(
    files: Mapping[str, Path], items: pd.DataFrame, requests: pd.DataFrame, task: str, column: str = ""
) -> pd.DataFrame:
    """The responses of another run of this workflow, from its file
    ``responses/{model}/{benchmark}/{protocol}.parquet``.

    A request without a response is "failed"; the ids of responses to other requests are logged. Raises UserError if no
    response is to one of ``requests``: the run was of another protocol, or of other data.
    """
    path = one_file(files, ".parquet", "format responses")
    responses = read_responses(path, task)
    ours = responses["request_id"].isin(requests["request_id"])
    if len(requests) and not ours.any():
        raise UserError(
            f"{path}: none of its {len(responses)} responses to task {task} is to one of the {len(requests)} requests. "
            "Take a run of the same protocol and data."
        )
    log_unknown(path, "requests", responses["request_id"][~ours])
    missing = requests["request_id"][~requests["request_id"].isin(responses["request_id"])]
    none = pd.DataFrame({"request_id": missing, "repeat": 0, "status": "failed", "detail": "no response"})
    found = pd.concat([responses[ours], none], ignore_index=True)
    place = dict(zip(requests["request_id"], range(len(requests)), strict=True))
    return found.sort_values("request_id", key=lambda ids: ids.map(place), kind="stable", ignore_index=True)


#: Formats that every benchmark reads.
FORMATS = {"responses": read_own_responses}


def chosen(
    request_ids: pd.Series, labels: pd.Series, options: Iterable[str], status: np.ndarray, detail: np.ndarray
) -> pd.DataFrame:
    """Choice responses: all probability on the option that ``labels`` names.

    ``status`` is "ok" if there is one, "unparseable" if the answer is none of ``options``, "refused" if there was no
    answer; a response with another status has no probabilities.
    """
    options = list(options)
    one_hot = {label: json.dumps([float(label == other) for other in options]) for label in options}
    ok, unparsed, refused = (status == name for name in ("ok", "unparseable", "refused"))
    nothing = json.dumps([0.0] * len(options))
    read = pd.Series(ok | unparsed | refused, request_ids.index)
    return pd.DataFrame(
        {
            "request_id": request_ids,
            "repeat": 0,
            "status": status,
            "detail": detail,
            "probabilities": labels.map(one_hot).where(pd.Series(ok, request_ids.index), nothing).where(read),
            "refused": pd.Series(refused.astype(float), request_ids.index).where(read),
            "ambiguous": pd.Series(0.0, request_ids.index).where(read),
            "unparseable": pd.Series(unparsed.astype(float), request_ids.index).where(read),
            "unresolved": pd.Series(0.0, request_ids.index).where(read),
            "replies": None,
        }
    )


def match_options(text: pd.Series, options: pd.DataFrame) -> pd.Series:
    """The column of ``options`` whose text equals ``text``.

    Case, spaces, braces, apostrophes and a final full stop do not matter, unless exactly one option is the same to the
    character. Missing if no option, or more than one, is equal: an answer that was not offered is never taken for one
    that was.
    """
    same = np.column_stack([text.str.strip() == options[label].str.strip() for label in options])
    text = _normal(text).str.replace(r"pantsu$", "pantsuit", regex=True)  # UnifiedQA's vocabulary cuts "pantsuit"
    equal = np.column_stack([text == _normal(options[label]) for label in options])
    equal = np.where(same.sum(axis=1, keepdims=True) == 1, same, equal)
    labels = pd.Series(np.asarray(options.columns)[equal.argmax(axis=1)], text.index, dtype=object)
    return labels.where(equal.sum(axis=1) == 1)


def _normal(text: pd.Series) -> pd.Series:
    return text.map(normal)


def normal(text: str) -> str:
    """``text`` in the form in which texts are compared: without what does not matter in :func:`match_options`."""
    return " ".join(_UNSEEN.sub("", text.lower()).split()).rstrip(".")


def read_replies(step: Step, parsers: Mapping[str, Parser]) -> pd.DataFrame:
    """A response for each request, from one CSV with ``item`` and ``answer``: a reply in the model's words, a row each.

    Raises UserError where too many items are unknown (:func:`log_unknown`); see :func:`responses`.
    """
    path = one_file(step.files, ".csv", f"{step.description.title}, a file of replies")
    replies: defaultdict[str, list[str]] = defaultdict(list)
    for _, cells in read_csv_rows(path, ("item", "answer")):
        replies[cells["item"]].append(cells["answer"].strip())
    log_unknown(path, "items", sorted(replies.keys() - set(step.items["item_id"])), len(replies))
    return responses(step.requests, replies, parsers)


def responses(
    requests: pd.DataFrame, replies: Mapping[str, Sequence[str]], parsers: Mapping[str, Parser]
) -> pd.DataFrame:
    """A response for each request, from the ``replies`` to its item, which are its repeats.

    An answer's probability is its share of the replies; an empty reply is unresolved. An item without replies, or with
    empty ones only, is "failed". ``parsers`` are those that requests may name.
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
