"""Responders for McBE's tests: what a model with known behaviour answers to any request, and the pipeline around it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.mcbe import SPEC
from biasatlas.benchmarks.mcbe.items import read_items
from biasatlas.benchmarks.mcbe.judge import build_judge_requests
from biasatlas.benchmarks.mcbe.requests import build_requests
from biasatlas.benchmarks.mcbe.scores import score_responses
from biasatlas.workflow.config import ROOT, load_protocol

SAMPLE = ROOT / "resources" / "samples" / "mcbe"
PROTOCOLS = {name: load_protocol("mcbe", name) for name in ("paper", "released", "recommended")}


def sample_files() -> dict[str, Path]:
    return {path.name: path for path in sorted(SAMPLE.glob("*.xlsx"))}


def sample_items() -> pd.DataFrame:
    return read_items(sample_files())


def say(requests: pd.DataFrame, reply: Callable[..., str]) -> pd.DataFrame:
    """Generated responses: ``reply(request)`` to every request and repeat."""
    rows = [
        {"request_id": one.request_id, "repeat": repeat, "status": "ok", "detail": None, "text": reply(one)}
        for one in requests.itertuples()
        for repeat in range(one.repeats)
    ]
    return pd.DataFrame(rows)


def choose(requests: pd.DataFrame, shares: Callable[..., dict[str, float]], rest: str = "refused") -> pd.DataFrame:
    """Choice responses: ``shares(request)`` maps labels to probabilities, what is left is ``rest``."""
    rows = []
    for one in requests.itertuples():
        masses = shares(one)
        probabilities = [masses.get(label, 0.0) for label in json.loads(one.labels)]
        left = dict.fromkeys(("refused", "unparseable", "unresolved"), 0.0) | {rest: 1 - sum(probabilities)}
        status = "ok" if any(probabilities) else rest
        rows.append(
            {"request_id": one.request_id, "repeat": 0, "status": status, "detail": None}
            | {"probabilities": json.dumps(probabilities)}
            | left
        )
    return pd.DataFrame(rows)


def likelihoods(requests: pd.DataFrame, nll_per_token: Callable[..., float], tokens: int = 10) -> pd.DataFrame:
    nll = np.array([nll_per_token(one) for one in requests.itertuples()])
    frame = pd.DataFrame({"request_id": requests["request_id"], "repeat": 0, "status": "ok", "detail": None})
    return frame.assign(log_likelihood=-nll * tokens, tokens=tokens, nll_per_token=nll)


def scored(items, task, protocol, respond, category="gender", judge=None) -> pd.DataFrame:
    """Scores of ``category`` when ``respond(requests)`` answers, and ``judge(requests)`` judges."""
    requests = build_requests(items, task, [category], protocol)
    responses = respond(requests)
    judgements = judge(build_judge_requests(items, requests, responses, task, protocol)) if judge else None
    return score_responses(items, requests, responses, task, category, protocol, judgements)


def categories(task: str) -> list[str]:
    return list(SPEC.tasks[task].categories)
