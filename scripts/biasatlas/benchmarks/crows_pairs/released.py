"""A table of per-pair scores, in the layout that the authors' script writes, as likelihood responses."""

import logging
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.crows_pairs.vocabulary import SENTENCES
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_csv_rows, shown

#: The first column has no name.
_NUMBER = ""
_SCORES = ("sent_more_score", "sent_less_score", "score")
_COLUMNS = (_NUMBER, "sent_more", "sent_less", "bias_type", *_SCORES)


def import_responses(
    name: str, files: Mapping[str, Path], items: pd.DataFrame, requests: pd.DataFrame, task: str
) -> pd.DataFrame:
    """A response for each sentence, from ``{name}_crows_score.csv``; ``log_likelihood`` is the sum over shared tokens.

    ``score`` is 1 where the more stereotypical sentence scored higher. Some runs exchanged the two score columns in
    the "antistereo" rows; where columns and ``score`` disagree, ``score`` is right and the columns are exchanged back.
    A pair whose row is missing, doubled, without scores, or of another bias type or sentence than the item is "failed"
    with the reason in ``detail``; rows of unknown pairs are logged.

    Raises :class:`UserError` naming file, line and column for a table of another layout, or a score that is no number.
    """
    rows, problem = _read(name, files, items)
    more, less = rows["sent_more_score"], rows["sent_less_score"]
    exchanged = (more != less) & ((more > less) != (rows["score"] == 1)) & (problem == "")
    if exchanged.any():
        logging.info("%s: the two scores of %d pairs were exchanged back", name, exchanged.sum())
    scores = {"more": more.mask(exchanged, less), "less": less.mask(exchanged, more)}
    value = pd.concat(
        [requests["item_id"].map(scores[label]).where(requests["label"] == label) for label in SENTENCES], axis=1
    )
    detail = requests["item_id"].map(problem)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": np.where(detail == "", "ok", "failed"),
            "detail": detail,
            "log_likelihood": value.bfill(axis=1).iloc[:, 0].where(detail == ""),
            "tokens": pd.NA,
            "nll_per_token": np.nan,
        }
    )


def _read(name: str, files: Mapping[str, Path], items: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """The published row of each item, and what is wrong with it ("" where nothing is), both by ``item_id``."""
    suffix = f"{name}_crows_score.csv"
    path = next((path for file, path in files.items() if file.endswith(suffix)), None)
    if path is None:
        raise UserError(f"CrowS-Pairs, {name}: expected {suffix}, found {listed(files)}. Fetch the source again.")
    raw = pd.DataFrame([_numbers(where, row) for where, row in read_csv_rows(path, _COLUMNS)]).set_index(_NUMBER)
    unknown = raw.index[~raw.index.isin(items["item_id"])]
    if len(unknown):
        logging.warning("%s: %d rows of unknown pairs, first %s", path, len(unknown), unknown[0])
    doubled = raw.index[raw.index.duplicated()]
    rows = raw[~raw.index.duplicated()].reindex(items["item_id"])
    other_sentence = (rows["sent_more"].to_numpy() != items["more"]) | (rows["sent_less"].to_numpy() != items["less"])
    problem = np.select(
        [
            rows.index.isin(doubled),
            rows["score"].isna().to_numpy(),
            rows["bias_type"].to_numpy() != items["category"].to_numpy(),
            other_sentence.to_numpy(),
            rows[["sent_more_score", "sent_less_score"]].isna().any(axis=1).to_numpy(),
        ],
        ["more than one row", "no row", "another bias type", "another sentence", "no score"],
        default="",
    )
    failed = problem != ""
    if failed.any():
        logging.warning("%s: %d pairs without one usable row, first %s", path, failed.sum(), rows.index[failed][0])
    return rows, pd.Series(problem, rows.index)


def _numbers(where: str, row: dict[str, str]) -> dict[str, str | float]:
    """A row with its scores as numbers, missing where a cell is empty."""
    numbers = {}
    for column in _SCORES:
        try:
            numbers[column] = float(row[column] or "nan")
        except ValueError:
            numbers[column] = math.inf
        if math.isinf(numbers[column]):
            raise UserError(
                f"{where}: {column} is {shown(row[column])}, expected a number or an empty cell. Fetch the file again."
            )
    return row | numbers
