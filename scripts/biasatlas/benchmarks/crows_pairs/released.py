"""Per-pair scores, in a table as the authors' script writes it, as likelihood responses."""

import logging
import math
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.pairs.released import likelihoods
from biasatlas.benchmarks.families.pairs.spec import SENTENCES
from biasatlas.benchmarks.shared.predictions import log_unknown, one_file
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_csv_rows, shown

#: The first column has no name.
_NUMBER = ""
_SCORES = ("sent_more_score", "sent_less_score", "score")
_COLUMNS = (_NUMBER, "sent_more", "sent_less", "bias_type", *_SCORES)


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each sentence, from ``{release}_crows_score.csv``; see :func:`read_score_table`."""
    suffix = f"{step.release}_crows_score.csv"
    path = next((path for file, path in step.files.items() if file.endswith(suffix)), None)
    if path is None:
        raise UserError(
            f"CrowS-Pairs, {step.release}: expected {suffix}, found {listed(step.files)}. Fetch the source again."
        )
    return _responses(path, step.items, step.requests)


def read_score_table(step: Step) -> pd.DataFrame:
    """A response for each sentence, from one CSV; ``log_likelihood`` is the sum over shared tokens.

    ``score`` is 1 where the more stereotypical sentence scored higher. Some runs exchanged the two score columns in
    the "antistereo" rows; where columns and ``score`` disagree, ``score`` is right and the columns are exchanged back.
    A pair whose row is missing, doubled, without scores, or of another bias type or sentence than the item is "failed"
    with the reason in ``detail``; rows of unknown pairs are logged by id.

    Raises :class:`UserError` naming file, line and column for a table of another layout, or a score that is no number.
    """
    return _responses(one_file(step.files, ".csv", "CrowS-Pairs, format score_table"), step.items, step.requests)


#: Formats of a user's own predictions.
FORMATS = {"score_table": read_score_table}


def _responses(path: Path, items: pd.DataFrame, requests: pd.DataFrame) -> pd.DataFrame:
    rows, problem = _read(path, items)
    more, less = rows["sent_more_score"], rows["sent_less_score"]
    exchanged = (more != less) & ((more > less) != (rows["score"] == 1)) & (problem == "")
    if exchanged.any():
        logging.info("%s: the two scores of %d pairs were exchanged back", path, exchanged.sum())
    scores = {"more": more.mask(exchanged, less), "less": less.mask(exchanged, more)}
    more = requests["label"].str.startswith(SENTENCES[0])
    value = requests["item_id"].map(scores["more"]).where(more, requests["item_id"].map(scores["less"]))
    # These are scores of the tokens that both texts share, which a masked model is asked for in either request.
    return likelihoods(requests.assign(label=""), value, requests["item_id"].map(problem).to_numpy())


def _read(path: Path, items: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """The row of each item, and what is wrong with it ("" where nothing is), both by ``item_id``."""
    raw = pd.DataFrame([_numbers(where, row) for where, row in read_csv_rows(path, _COLUMNS)]).set_index(_NUMBER)
    log_unknown(path, "pairs", raw.index[~raw.index.isin(items["item_id"])])
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
