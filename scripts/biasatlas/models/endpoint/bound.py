"""What requests to an endpoint come to, before any is sent."""

from typing import Any

import numpy as np
import pandas as pd

from biasatlas.models.endpoint.calls import call_of, cost
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.found import Found
from biasatlas.models.endpoint.limits import HEADROOM
from biasatlas.models.entry import Preview
from biasatlas.models.sampling import fill_sampling


def preview(name: str, entry: ApiEntry, requests: pd.DataFrame) -> list[Preview]:
    """Why the endpoint cannot answer each of ``requests``. Raises UserError for sampling settings that its entry lacks."""
    sampling = {setting: values.model_dump() for setting, values in entry.sampling.items()}
    rows = fill_sampling(requests, sampling, name).to_dict("records")
    planned = (call_of(row, entry) for row in rows)
    return [Preview(reason if isinstance(reason, str) else "") for reason in planned]


def bound(entry: ApiEntry, sizes: pd.DataFrame, found: Found | None = None) -> dict[str, Any]:
    """Calls, tokens, and what they cost at most, in which currency; minutes by the entry's rates, missing where it has none.

    ``sizes`` counts requests by their settings (:func:`biasatlas.workflow.check.sizes`). As many repeats are in one call as
    the check ``found`` that the endpoint gives. No call is taken to be in the store, or to be sent twice.
    """
    answers = min(found.n, entry.n or found.n) if found else 1
    single = (sizes["kind"] == "likelihood") | ((sizes["kind"] == "choice") & (entry.top_logprobs > 0))
    repeats = sizes["repeats"].fillna(1).where(~single, 1)
    completion = sizes["max_tokens"].fillna(1).where(~single, 1)
    calls = np.ceil(repeats / answers)
    sent = float((sizes["requests"] * calls).sum())
    prompt_tokens = float((sizes["prompt_tokens"] * calls).sum())
    completion_tokens = float((sizes["requests"] * repeats * completion).sum())
    per_minute = ((sent, entry.requests_per_minute), (prompt_tokens + completion_tokens, entry.tokens_per_minute))
    minutes = max((count / (rate * HEADROOM) for count, rate in per_minute if rate), default=np.nan)
    return {
        "calls": sent,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "cost": cost(entry, prompt_tokens, completion_tokens),
        "currency": entry.currency,
        "minutes": minutes,
    }
