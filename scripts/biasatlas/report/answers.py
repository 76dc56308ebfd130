"""What was answered: a model's responses and a judge's, packed in chunks of items."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.shared.preferences import parse_probabilities
from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.files import read_parquet, read_responses
from biasatlas.report.packing import pack, pack_codes, pack_floats, put
from biasatlas.report.run import ModelRun

#: Items, or rows, whose details are in one file.
CHUNK = 4096
#: Labels whose probabilities get a column each.
_FEW_LABELS = 6


def write_answers(
    answered: ModelRun,
    task: str,
    numbers: pd.DataFrame,
    items: pd.DataFrame,
    folder: Path,
    model: str,
) -> None:
    """Write a model's answers to the requests in ``numbers``, and what a judge said of them, in chunks of ``items``."""
    responses = read_responses(answered.responses, task, numbers["request_id"])
    responses = responses.merge(numbers, on="request_id", how="inner")
    if answered.tokens and "log_likelihood" in responses:
        responses = with_tokens(responses, read_parquet(answered.tokens).query("task == @task").drop(columns="task"))
    judged = _judged(answered, items) if answered.judged else None
    for number in range(-(-len(items) // CHUNK)):
        mine = responses[responses["chunk"] == number].sort_values("place", kind="stable").reset_index(drop=True)
        place, value = mine["place"].to_numpy(int), _answers(mine)
        # If each request has one answer, places are left out: they would be a third of the site.
        if not np.array_equal(place, np.arange((numbers["chunk"] == number).sum())):
            value["place"] = pack_codes(place)
        if judged is not None:
            graded = judged[judged["item"] // CHUNK == number].reset_index(drop=True)
            value["judged"] = {"item": pack_codes(graded["item"].to_numpy(int) - number * CHUNK)} | _answers(
                graded.drop(columns="item")
            )
        put(folder.parent, f"{folder.name}/{model}-{number}", value)


def with_tokens(responses: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    """Responses with their tokens if these add up to the response: the file may be from an earlier model."""
    merged = responses.merge(told, on="request_id", how="left")
    total = merged["token_log_likelihoods"].map(
        lambda text: sum(value for _, value in json.loads(text)), na_action="ignore"
    )
    known = merged["log_likelihood"]
    same = (total.astype(float) - known).abs() <= 0.05 + 0.01 * known.abs()
    return merged.assign(token_log_likelihoods=merged["token_log_likelihoods"].where(same))


def _answers(responses: pd.DataFrame) -> dict[str, Any]:
    """Pack the columns of responses that are not empty; probabilities as a column for each label if there are few."""
    left = responses.drop(columns=["request_id", "chunk", "place", "labels"], errors="ignore")
    left = left.drop(columns=[name for name in left if left[name].isna().all() or (left[name] == "").all()])
    if {"log_likelihood", "tokens", "nll_per_token"} <= set(left):
        # The page computes nll_per_token from the other two.
        mean = -left["log_likelihood"] / left["tokens"]
        left = left.drop(columns=["nll_per_token"] * np.allclose(mean, left["nll_per_token"], equal_nan=True))
    packed: dict[str, Any] = {}
    if "probabilities" in left:
        known = left["probabilities"].dropna()
        counts = known.str.count(",").unique() + 1
        if len(counts) == 1 and counts[0] <= _FEW_LABELS:
            masses = parse_probabilities(left["probabilities"], [""] * int(counts[0]))
            packed["masses"] = [pack_floats(masses[:, place]) for place in range(masses.shape[1])]
            left = left.drop(columns="probabilities")
    if "labels" in responses and "masses" not in packed and "probabilities" in left:
        left = left.assign(probabilities=_likeliest(left["probabilities"], responses["labels"]))
    return {"responses": pack(left)} | packed


def _likeliest(probabilities: pd.Series, labels: pd.Series) -> pd.Series:
    """The likeliest of many labels, at most 8, as "label 0.52, label 0.28"."""
    names: dict[str, list[str]] = {text: _labels(text) for text in labels.dropna().unique()}
    shown: list[str | None] = []
    for text, of in zip(probabilities, labels, strict=True):
        if not isinstance(text, str) or not isinstance(of, str):
            shown.append(None)
            continue
        (masses,) = parse_probabilities(pd.Series([text]), names[of])
        most = np.argsort(-masses, kind="stable")[:8]
        shown.append(", ".join(f"{names[of][place]} {masses[place]:.3g}" for place in most if masses[place] >= 5e-4))
    return pd.Series(shown, index=probabilities.index, dtype=object)


def _labels(text: str) -> list[str]:
    """Labels of a request."""
    return [str(label) for label in json.loads(text)]


def _judged(answered: ModelRun, items: pd.DataFrame) -> pd.DataFrame:
    """A judge's requests about a model's answers, with its responses; ``item`` is the index of the item of each."""
    requests, responses = (read_parquet(path) for path in answered.judged or ())
    own = [name for name in requests if name not in REQUEST_COLUMNS]
    requests = requests[["request_id", "item_id", "messages", "labels", *own]]
    judged = requests.merge(responses.drop(columns=["task", "kind"]), on="request_id", how="left")
    place = pd.Index(items["item_id"]).get_indexer(judged.pop("item_id"))
    # A request's id ends in the number of the answer, followed by the criterion if there are several.
    number = judged["request_id"].str.extract(r"/(\d+)(?:/[^/]*)?$")[0]
    judged = judged.assign(item=place, answer=number)[place >= 0]
    return judged.sort_values("item", kind="stable").reset_index(drop=True)
