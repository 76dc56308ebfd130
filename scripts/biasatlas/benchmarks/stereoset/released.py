"""Prediction files (an id and a score for each sentence), published or one's own, as likelihood responses."""

import logging
import math
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.predictions import log_unknown, one_file
from biasatlas.benchmarks.stereoset.spec import SENTENCES
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_json, shown

#: Replaces a score of 0, which has no logarithm: the smallest number above 0.
_LEAST = math.ulp(0.0)


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each request, from ``code/predictions/predictions_{release}_*.json``: :func:`read_predictions`."""
    starts = f"predictions_{step.release}_", f"predictions_{step.release}."
    matches = sorted(file for file in step.files if Path(file).name.startswith(starts))
    if len(matches) != 1:
        raise UserError(
            f"StereoSet, {step.release}: expected one file predictions_{step.release}_*.json, found {listed(matches)}. "
            "Fetch the source again."
        )
    return _responses(step.files[matches[0]], step.items, step.requests, step.task)


def read_predictions(step: Step) -> pd.DataFrame:
    """A response for each request, from one JSON file with a list of ids and scores for each task.

    Intrasentence scores of the authors' causal models are exp(mean token log-likelihood), intersentence ones the
    probability of their next-sentence head; either is stored as ``nll_per_token`` = -ln(score), which keeps its order.
    A score of 0 (the ensemble gives it to 2,944 sentences) is below all others, and a tie with another 0. A sentence
    whose score is missing or doubled in the task's list is "failed", with the reason in ``detail``; scores of unknown
    sentences are logged by id.

    Raises :class:`UserError` for a file that does not hold a list of ids and scores of the task.
    """
    path = one_file(step.files, ".json", "StereoSet, format predictions")
    return _responses(path, step.items, step.requests, step.task)


#: Formats of a user's own predictions.
FORMATS = {"predictions": read_predictions}


def _responses(path: Path, items: pd.DataFrame, requests: pd.DataFrame, task: str) -> pd.DataFrame:
    predictions = pd.DataFrame(_read(path, task), columns=["id", "score"])
    known = items[[f"{label}_id" for label in SENTENCES]].stack()
    log_unknown(f"{path}, {task}", "sentences", predictions["id"][~predictions["id"].isin(known)])
    doubled = set(predictions["id"][predictions["id"].duplicated()])
    score = requests["sentence_id"].map(predictions.drop_duplicates("id").set_index("id")["score"])
    detail = np.select(
        [requests["sentence_id"].isin(doubled), score.isna()], ["more than one score", "no score"], default=""
    )
    swapped = (requests["sentence_id"] == "").to_numpy()  # with another target: no published sentence
    failed = (detail != "") & ~swapped
    if failed.any():
        first = requests["request_id"][failed].iloc[0]
        logging.warning("%s, %s: %d sentences without one score, first %s", path, task, failed.sum(), first)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": np.select([swapped, failed], ["not_applicable", "failed"], "ok"),
            "detail": np.where(swapped, "predictions are of published sentences", detail),
            "log_likelihood": np.nan,
            "tokens": pd.NA,
            "nll_per_token": -np.log(score.where(~failed & ~swapped).astype(float).clip(lower=_LEAST)),
        }
    )


def _read(path: Path, task: str) -> list[tuple[str, float]]:
    """Id and score of each sentence of a task."""
    content = read_json(path)
    predictions = content.get(task) if isinstance(content, dict) else None
    if not isinstance(predictions, list):
        raise UserError(f"{path}: no list of scores of the task {task}. Fetch the file again.")
    rows = []
    for number, prediction in enumerate(predictions, 1):
        row = prediction if isinstance(prediction, dict) else {}
        sentence_id, score = row.get("id"), row.get("score")
        if not isinstance(sentence_id, str) or type(score) not in (int, float) or not 0 <= score < math.inf:
            raise UserError(
                f'{path}, {task}, entry {number}: {shown(prediction)}. Expected {{"id": ..., "score": ...}} with a '
                "score of 0 or more: fetch the file again."
            )
        rows.append((sentence_id, float(score)))
    return rows
