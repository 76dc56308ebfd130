"""Rotary embeddings that are scaled by a text's length (longrope): each text is computed with its own factor.

Others that look at the length (dynamic) change beyond the tokens that a model takes, where nothing is asked.
"""

from collections.abc import Iterator

import numpy as np

from biasatlas.models.local.load import LoadedModel


def switch_length(model: LoadedModel) -> int | None:
    """The most tokens of a text that is scaled by the short factor; None where one factor serves every text."""
    parameters = getattr(model.model.config.get_text_config(), "rope_parameters", None) or {}
    layers = [parameters, *(value for value in parameters.values() if isinstance(value, dict))]
    return min(
        (layer["original_max_position_embeddings"] for layer in layers if layer.get("rope_type") == "longrope"),
        default=None,
    )


def groups(model: LoadedModel, length: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    """Indices of texts that are scaled alike, by their ``length`` in tokens, and why the tree is unfit for them ('')."""
    switch = switch_length(model)
    short = np.full(len(length), True) if switch is None else length <= switch
    if short.any() or not len(length):
        yield np.flatnonzero(short), model.tree_refusal
    if not short.all():
        yield (
            np.flatnonzero(~short),
            f"rotary embeddings of texts beyond {switch} tokens are scaled by their whole length",
        )
