"""Published prediction files (an id and a score for each sentence) as likelihood responses."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.errors import UserError


def import_responses(
    name: str, files: Mapping[str, Path], items: pd.DataFrame, requests: pd.DataFrame, task: str
) -> pd.DataFrame:
    """A response for each request, from ``code/predictions/predictions_{name}_*.json``.

    Intrasentence scores of the authors' causal models are exp(mean token log-likelihood), intersentence ones the
    probability of their next-sentence head; either is stored as ``nll_per_token`` = -ln(score), which keeps its order.
    A sentence whose score is missing or doubled in the task's list is "failed", with the reason in ``detail``; scores
    of unknown sentences are logged.
    """
    matches = sorted(file for file in files if Path(file).name.startswith(f"predictions_{name}_"))
    if len(matches) != 1:
        raise UserError(f"StereoSet, {name}: expected one file predictions_{name}_*.json, found {matches}.")
    path = files[matches[0]]
    with open(path, encoding="utf-8") as file:
        predictions = pd.DataFrame(json.load(file).get(task, []), columns=["id", "score"])
    unknown = predictions["id"][~predictions["id"].isin(requests["sentence_id"])]
    if len(unknown):
        logging.warning("%s, %s: %d scores of unknown sentences, first %s", path, task, len(unknown), unknown.iloc[0])
    doubled = set(predictions["id"][predictions["id"].duplicated()])
    score = requests["sentence_id"].map(predictions.drop_duplicates("id").set_index("id")["score"])
    detail = np.select(
        [requests["sentence_id"].isin(doubled), score.isna()], ["more than one score", "no score"], default=""
    )
    failed = detail != ""
    if failed.any():
        first = requests["request_id"][failed].iloc[0]
        logging.warning("%s, %s: %d sentences without one score, first %s", path, task, failed.sum(), first)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": np.where(failed, "failed", "ok"),
            "detail": detail,
            "log_likelihood": np.nan,
            "tokens": pd.NA,
            "nll_per_token": -np.log(score.where(~failed).astype(float)),
        }
    )
