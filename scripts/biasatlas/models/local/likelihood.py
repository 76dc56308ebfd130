"""Requests of kind ``likelihood``: how probable a continuation is."""

import numpy as np
import pandas as pd

from biasatlas.engine.encode import BOUNDARIES, SPECIAL_TOKENS, encode_pairs
from biasatlas.engine.memory import Memory
from biasatlas.engine.plain import token_log_probabilities
from biasatlas.engine.routes import Route, log_likelihoods
from biasatlas.errors import UserError
from biasatlas.models.local.inputs import by_route, setting, switch_length, why_unreadable
from biasatlas.models.local.load import LoadedModel
from biasatlas.models.local.render import texts

#: Tokens of prompts and continuations together, and where the first token is that a prompt predicts.
Encoded = tuple[list[np.ndarray], np.ndarray]


def answer_likelihoods(
    requests: pd.DataFrame, encoded: Encoded, model: LoadedModel, memory: Memory
) -> tuple[pd.DataFrame, dict]:
    """Likelihood responses in the order of ``requests``, ``encoded`` by :func:`encode`, and what computing them took.

    A continuation of which no token can be scored is "not_applicable", a text longer than the model takes "failed".
    """
    tokens, start = encoded
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    empty = start >= length
    why = why_unreadable(model, tokens, length - 1)
    detail = np.where(empty, "no token of the continuation can be scored", why).astype(object)
    status = np.where(empty, "not_applicable", np.where(detail != "", "failed", "ok"))

    values = np.full(len(requests), np.nan)
    scorable = np.flatnonzero(status == "ok")

    def answer(group: np.ndarray, route: Route) -> dict[str, int]:
        asked = scorable[group]
        values[asked], took = log_likelihoods(model.model, [tokens[i] for i in asked], start[asked], memory, route)
        return took

    run = by_route(model, length[scorable] - 1, lambda i: requests["request_id"][scorable[i]], answer)
    count = np.where(status == "ok", length - start, 0)
    responses = pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": status,
            "detail": detail,
            "log_likelihood": values,
            "tokens": count,
            "nll_per_token": -values / np.where(count, count, np.nan),
        }
    )
    return responses, run


def token_log_likelihoods(encoded: Encoded, model: LoadedModel, memory: Memory) -> list[list[tuple[str, float]]]:
    """Each scored token of each request's continuation, with its log-likelihood in nats: what the response adds up.

    None for a request that has no likelihood. Computed in padded batches, which every causal model answers rightly.
    """
    tokens, start = encoded
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    why = why_unreadable(model, tokens, length - 1)
    scorable = np.flatnonzero((start < length) & (why == ""))
    found: list[list[tuple[str, float]]] = [[] for _ in tokens]
    short = length <= (switch_length(model.text_config) or np.inf) + 1  # padding would scale these as the longer ones
    for asked in (scorable[short[scorable]], scorable[~short[scorable]]):
        values = token_log_probabilities(model.model, [tokens[i] for i in asked], memory)
        for i, of_text in zip(asked, values, strict=True):
            texts_of = [model.tokenizer.decode([token]) for token in tokens[i][start[i] :]]
            found[i] = list(zip(texts_of, of_text[start[i] - 1 :].tolist(), strict=True))
    return found


def encode(requests: pd.DataFrame, prompts: list[str], model: LoadedModel) -> Encoded:
    """The tokens of each request behind its rendered prompt. Raises UserError for a boundary that they do not tell."""
    prefixes = np.asarray(prompts, dtype=object)
    continuations = np.asarray(texts(requests, "continuation"), dtype=object)
    special_tokens = setting(requests, "special_tokens", SPECIAL_TOKENS)
    boundary = setting(requests, "boundary", BOUNDARIES)
    tokens: list[np.ndarray] = [np.zeros(0, np.int32)] * len(requests)
    start = np.zeros(len(requests), np.int64)
    for (special, edge), rows in requests.groupby([special_tokens, boundary], sort=False).indices.items():
        try:
            encoded, start[rows] = encode_pairs(model.tokenizer, prefixes[rows], continuations[rows], special, edge)
        except NotImplementedError as error:
            raise UserError(
                f"{model.name}: the tokenizer reports no character offsets: set the protocol's boundary to "
                "prefix_length."
            ) from error
        for row, ids in zip(rows, encoded, strict=True):
            tokens[row] = ids
    return tokens, np.maximum(start, 1)  # nothing predicts the first token of a text
