"""Simulated models for oracle tests of the baselines: their answers are known, so their scores are, too."""

import json
import string

import pandas as pd


def prefer(requests: pd.DataFrame, log_likelihood: dict[str, float]) -> pd.DataFrame:
    """Likelihood responses that depend on the sentence's label alone; every sentence has ten tokens."""
    value = requests["label"].map(log_likelihood).astype(float)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": "ok",
            "detail": "",
            "log_likelihood": value,
            "tokens": 10,
            "nll_per_token": -value / 10,
        }
    )


def choose(requests: pd.DataFrame, choice: str, mass: float = 1.0, refused: float = 0.0) -> pd.DataFrame:
    """Choice responses that put ``mass`` on the sentence ``choice`` wherever it stands, or on the letter ``choice``."""
    orders = requests["order"].map(json.loads)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": "ok",
            "detail": "",
            "probabilities": [
                json.dumps([mass * (choice in pair) for pair in zip(string.ascii_uppercase, order, strict=False)])
                for order in orders
            ],
            "refused": refused,
            "ambiguous": 0.0,
            "unparseable": 1 - mass - refused,
            "unresolved": 0.0,
        }
    )
