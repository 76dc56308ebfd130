"""Which token sees which in each layer of a decoder, where rows are subtrees of a token trie."""

import functools
import inspect
import math
import os
import re
from collections.abc import Callable

import torch
from transformers import PretrainedConfig, PreTrainedModel

#: Types of layers -> the field of the configuration that says how far their attention reaches; None: without limit.
SPANS = {"full_attention": None, "sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}


def layer_types(decoder: PreTrainedModel) -> set[str]:
    """The types of a decoder's layers; those that SPANS lacks are recurrent, or choose what they attend to."""
    config = decoder.config
    declared = getattr(config, "layer_types", None)
    if declared and _by_type(decoder):
        return set(declared)
    if getattr(config, "sliding_window", None) and _one_window(decoder):
        return {"sliding_attention"}
    # One mask serves all layers; declared types that SPANS lacks are returned, too.
    return {"full_attention"} | (set(declared or ()) - SPANS.keys())


def span(config: PretrainedConfig, layer_type: str) -> int | None:
    """How many tokens a layer of this type looks back over (chunked: the length of a chunk), None without a limit."""
    field = SPANS.get(layer_type)
    return getattr(config, field, None) if field else None


def attention_mask(
    decoder: PreTrainedModel, visible: torch.Tensor, depth: torch.Tensor, column_depth: torch.Tensor
) -> torch.Tensor | dict[str, torch.Tensor]:
    """The ``attention_mask`` that a decoder takes for rows of tokens under a tree mask.

    ``visible`` (rows × queries × columns, boolean): whether a query may see a column by descent: the column is itself
    or an ancestor of it. Columns are the cached tokens, then the queries themselves. ``depth`` (rows × queries) and
    ``column_depth`` (rows or 1 × columns) are positions in the text, in which windows and chunks are measured. A padded
    query should see itself, else its attention is NaN.

    The result is a mask (rows × 1 × queries × columns) for each layer type if the decoder distinguishes them, else one
    for all layers. Masks are boolean for SDPA; for eager attention they are added to scores, in the decoder's dtype.
    """
    types = layer_types(decoder) & SPANS.keys()
    largest = 0.0
    if any(span(decoder.config, name) for name in types):  # a value on a GPU would have to be waited for
        largest = int(depth.max()) if depth.device.type == "cpu" else math.inf
    masks = {}
    for name in types:
        reach = span(decoder.config, name)
        seen = visible
        if reach is not None and largest >= reach:
            queries, columns = depth[:, :, None], column_depth[:, None, :]
            if name == "chunked_attention":
                seen = visible & (queries // reach == columns // reach)
            else:
                seen = visible & (queries - columns < reach)
        masks[name] = _as_taken(seen[:, None], decoder)
    return masks if _by_type(decoder) and hasattr(decoder.config, "layer_types") else masks.popitem()[1]


def share_heads() -> None:
    """Let heads of a group share keys and values under a mask until this process ends; for models on a CPU.

    By default the library copies them for each head, for the sake of GPUs: a quarter of the time of a short pass.
    """
    os.environ.setdefault("TRANSFORMERS_SDPA_FORCE_GQA", "1")  # read at each call


def tree_visible(end: torch.Tensor) -> torch.Tensor:
    """Whether token i of a row is j or descends from it (rows × i × j): j ≤ i < end[j]; ``end`` is rows × width."""
    at = torch.arange(end.shape[1], device=end.device)
    return (at <= at[:, None]) & (at[:, None] < end[:, None, :])


def _as_taken(seen: torch.Tensor, decoder: PreTrainedModel) -> torch.Tensor:
    if decoder.config._attn_implementation != "eager":
        return seen
    # Eager attention adds the mask to the scores, where a boolean would be silently wrong.
    blocked = torch.zeros(seen.shape, dtype=decoder.dtype, device=seen.device)
    return blocked.masked_fill_(~seen, torch.finfo(decoder.dtype).min)


@functools.cache
def _source(forward: Callable) -> str:
    try:
        return inspect.getsource(inspect.unwrap(forward))
    except OSError:
        return ""


def _by_type(decoder: PreTrainedModel) -> bool:
    """Whether the decoder takes a mask for each of its layer types, as the library's own with several types do."""
    return bool(re.search(r"isinstance\([^)]*attention_mask, dict\)", _source(type(decoder).forward)))


def _one_window(decoder: PreTrainedModel) -> bool:
    """Whether the decoder gives all its layers one mask, with the window of its configuration if there is one."""
    return "create_sliding_window_causal_mask" in _source(type(decoder).forward)
