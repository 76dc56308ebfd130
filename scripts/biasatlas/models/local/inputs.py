"""Requests as the engine gets them: tokens, sampling settings, and which of them the model can take."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from transformers import PretrainedConfig

from biasatlas.engine.encode import SPECIAL_TOKENS, encode_texts
from biasatlas.engine.memory import NotFiniteError
from biasatlas.engine.routes import Route
from biasatlas.engine.sampling import Sampling
from biasatlas.errors import UserError
from biasatlas.models.local.load import LoadedModel
from biasatlas.models.local.render import texts


def switch_length(config: PretrainedConfig) -> int | None:
    """The most tokens of a text that a decoder scales by its short factor; None if it has one factor for all texts.

    Only longrope has two, chosen by a text's length. Scaling that depends on the length otherwise (dynamic) changes
    beyond the tokens that a model takes, where nothing is asked.
    """
    parameters = getattr(config, "rope_parameters", None) or {}
    layers = [parameters, *(value for value in parameters.values() if isinstance(value, dict))]
    return min(
        (layer["original_max_position_embeddings"] for layer in layers if layer.get("rope_type") == "longrope"),
        default=None,
    )


def exception(config: PretrainedConfig) -> str:
    """Which texts need padded batches, whatever the route of the others, and why; '' if none do."""
    switch = switch_length(config)
    if switch is None:
        return ""
    return f"padded batches for texts beyond {switch} tokens, whose rotary embeddings are scaled by their whole length"


def by_route(
    model: LoadedModel,
    length: np.ndarray,
    request_of: Callable[[int], str],
    answer: Callable[[np.ndarray, Route], Mapping[str, int]],
) -> dict[str, int]:
    """Call ``answer`` with the indices of texts that are scaled alike, by their ``length`` in tokens, and their route.

    Returns the sums of what it took. Raises UserError for a log-probability that is NaN or infinite, with the request
    that ``request_of`` names.
    """
    config, run = model.text_config, Counter[str]()
    short = length <= (switch_length(config) or np.inf)
    for texts_of, route in ((short, model.route), (~short, Route("plain", exception(config)))):
        group = np.flatnonzero(texts_of)
        try:
            run.update(answer(group, route) if len(group) else {})
        except NotFiniteError as error:
            raise UserError(
                f"{model.name}: a log-probability of request {request_of(int(group[error.sequence]))!r} is "
                f"{error.value}: the weights are damaged, or overflow in this precision; try dtype float32 or bfloat16."
            ) from error
    return dict(run)


def setting(requests: pd.DataFrame, column: str, allowed: tuple[str, ...]) -> pd.Series:
    """A column of settings; a null stands for the first of those ``allowed``. Raises ValueError for any other."""
    values = pd.Series(texts(requests, column, allowed[0]), dtype=object)
    unknown = ~values.isin(allowed)
    if unknown.any():
        row = requests[unknown].iloc[0]
        raise ValueError(f"request {row['request_id']!r}: {column} is {row[column]!r}, expected one of {allowed}")
    return values


def encode_prompts(requests: pd.DataFrame, prompts: list[str], model: LoadedModel) -> list[np.ndarray]:
    """The token ids (int32) of each request's rendered prompt."""
    rendered = np.asarray(prompts, dtype=object)
    tokens: list[np.ndarray] = [np.zeros(0, np.int32)] * len(requests)
    for special, rows in requests.groupby(setting(requests, "special_tokens", SPECIAL_TOKENS)).indices.items():
        for row, ids in zip(rows, encode_texts(model.tokenizer, rendered[rows], str(special)), strict=True):
            tokens[row] = ids
    return tokens


def why_unanswerable(model: LoadedModel, prompts: list[np.ndarray], max_tokens: pd.Series) -> np.ndarray:
    """Why each prompt cannot be answered with ``max_tokens`` tokens, '' where it can."""
    length = np.fromiter(map(len, prompts), np.int64, len(prompts))
    why = why_unreadable(model, prompts, length + max_tokens.to_numpy(dtype=np.int64))
    return np.where(length == 0, "an empty prompt predicts nothing", why).astype(object)


def why_unreadable(model: LoadedModel, tokens: list[np.ndarray], length: np.ndarray) -> np.ndarray:
    """Why the model cannot take each text, which will have ``length`` tokens; '' if it can."""
    limit, embeddings = context_length(model), model.model.get_input_embeddings().weight.shape[0]
    largest = np.fromiter((ids.max(initial=0) for ids in tokens), np.int64, len(tokens))
    beyond = np.where(largest >= embeddings, f"a token beyond the {embeddings} that the model has embeddings for", "")
    return np.where(length > limit, f"longer than the {limit} tokens that the model takes", beyond)


def longest_answer(model: LoadedModel, prompt: int, max_tokens: int | None) -> int | None:
    """The most tokens of an answer to a prompt of ``prompt`` tokens; None if neither request nor model bounds it.

    An answer ends before its text would be scaled differently (:func:`switch_length`).
    """
    switch = switch_length(model.text_config)
    limits = [np.inf if max_tokens is None else max_tokens, context_length(model) - prompt]
    if switch is not None and prompt <= switch:
        limits.append(switch + 1 - prompt)
    longest = min(limits)
    return None if longest == np.inf else int(longest)


def context_length(model: LoadedModel) -> float:
    """The most tokens that the model takes, infinity if it names no bound.

    Doge takes no more than it attends to: beyond, later tokens decide what earlier ones attend to.
    """
    bounds = (
        getattr(model.text_config, name, None) or np.inf for name in ("max_position_embeddings", "keep_window_size")
    )
    return min(bounds)


def samplings(requests: pd.DataFrame) -> list[Sampling]:
    """The sampling settings of each request; a null leaves the default, which changes nothing."""
    types: dict[str, type] = {field.name: type(field.default) for field in dataclasses.fields(Sampling)}
    return [
        Sampling(**{name: types[name](value) for name, value in zip(types, row, strict=True) if not pd.isna(value)})
        for row in requests[list(types)].itertuples(index=False)
    ]


def integer(value: Any) -> int | None:
    """A value of a column of whole numbers, which pandas reads as floats if some are null."""
    return None if pd.isna(value) else int(value)
