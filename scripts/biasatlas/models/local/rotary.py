"""Rotary embeddings that are scaled by a text's length (longrope): each text is computed with its own factor.

Others that look at the length (dynamic) change beyond the tokens that a model takes, where nothing is asked.
"""

from collections.abc import Iterator

import numpy as np
from transformers import PretrainedConfig

from biasatlas.engine.routes import Route
from biasatlas.models.local.load import LoadedModel


def switch_length(model: LoadedModel) -> int | None:
    """The most tokens of a text that is scaled by the short factor; None where one factor serves every text."""
    return switch_of(model.model.config.get_text_config())


def switch_of(config: PretrainedConfig) -> int | None:
    """As :func:`switch_length`, by the configuration of a text decoder."""
    parameters = getattr(config, "rope_parameters", None) or {}
    layers = [parameters, *(value for value in parameters.values() if isinstance(value, dict))]
    return min(
        (layer["original_max_position_embeddings"] for layer in layers if layer.get("rope_type") == "longrope"),
        default=None,
    )


def exception(config: PretrainedConfig) -> str:
    """Which texts take padded batches whatever is right for the others, and why; '' where none do."""
    switch = switch_of(config)
    if switch is None:
        return ""
    return f"padded batches for texts beyond {switch} tokens, whose rotary embeddings are scaled by their whole length"


def groups(model: LoadedModel, length: np.ndarray) -> Iterator[tuple[np.ndarray, Route]]:
    """Indices of texts that are scaled alike, by their ``length`` in tokens, and the route that is right for them."""
    switch = switch_length(model)
    short = np.full(len(length), True) if switch is None else length <= switch
    if short.any() or not len(length):
        yield np.flatnonzero(short), model.route
    if not short.all():
        yield (
            np.flatnonzero(~short),
            Route("plain", exception(model.model.config.get_text_config())),
        )
