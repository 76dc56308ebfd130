"""A causal language model in two parts: the decoder, which turns tokens into hidden states, and its own head."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from transformers import Cache, DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer
from transformers.modeling_outputs import BaseModelOutputWithPast

from biasatlas.engine.masks import attention_mask


class Forward:
    """The forward pass of a model, for rows of tokens under a tree mask and for chosen hidden states.

    ``device`` is where ids and masks are expected.
    """

    def __init__(self, model: PreTrainedModel):
        self.model = model
        self.decoder = decoder(model)
        self.device = model.get_input_embeddings().weight.device

    @torch.inference_mode()
    def feed(
        self,
        ids: torch.Tensor,
        depth: torch.Tensor,
        visible: torch.Tensor,
        cache: Cache | None = None,
        cached_depth: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Hidden states (rows × width × hidden) of the tokens ``ids`` (rows × width) at positions ``depth``.

        ``visible`` (rows × width × columns, boolean) says which token descends from which; its columns are the tokens
        of ``cache``, at the depths ``cached_depth`` (rows or 1 × cached), then those of ``ids``. The windows and chunks
        of each layer are applied here. The cache grows by ``ids``; without one nothing is kept.
        """
        column_depth = depth
        if cached_depth is not None:
            column_depth = torch.cat([cached_depth.expand(len(depth), -1), depth], 1)
        return self.decoder(
            input_ids=ids,
            attention_mask=attention_mask(self.decoder, visible, depth, column_depth),
            position_ids=depth,
            past_key_values=cache,
            use_cache=cache is not None,
        ).last_hidden_state

    @torch.inference_mode()
    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """The fp32 logits (n × vocabulary) of hidden states (n × hidden), computed by the model's own forward method.

        The caller may overwrite the result.
        """
        ids = torch.zeros((1, 1), dtype=torch.long, device=self.device)
        with _returning(self.decoder, hidden[None]):
            return self.model(input_ids=ids, use_cache=False).logits[0].float()


def decoder(model: PreTrainedModel) -> PreTrainedModel:
    """The part of a model that turns tokens into hidden states; in a composite model, the one for text."""
    found = model.get_decoder()
    if not isinstance(found, PreTrainedModel):  # some heads call a part of theirs the decoder
        found = model.base_model
    while hasattr(found, "lm_head"):  # some composite models hold a causal model, others its decoder
        found = found.model
    return found


class _Passing(DynamicLayer):
    """Keys and values of a prefix. A pass attends to them and to its own, which are not kept."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys and values of the prefix, then those of the pass; nothing is stored."""
        if not self.is_initialized:
            return key_states, value_states
        return torch.cat([self.keys, key_states], -2), torch.cat([self.values, value_states], -2)


def new_cache(prefix: Cache | None, rows: int, keep: bool) -> DynamicCache:
    """A cache with the keys and values of ``prefix`` in each of its ``rows``, not copied; without a prefix, empty.

    It keeps every token: with the model's configuration, sliding layers would drop the first ones. Without ``keep``,
    a pass's own keys and values are not kept, so at most those of one layer exist at a time.
    """
    cache = DynamicCache()
    for kept in prefix.layers if prefix else ():
        layer = DynamicLayer() if keep else _Passing()
        if kept.keys is not None:  # layers that attend to an image keep nothing of a text
            layer.lazy_initialization(kept.keys, kept.values)
            layer.keys, layer.values = (one.expand(rows, -1, -1, -1) for one in (kept.keys, kept.values))
        cache.layers.append(layer)
    return cache


class _Hidden(BaseModelOutputWithPast):
    """A decoder's output that has hidden states only; whatever else the model's head asks for is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


@contextlib.contextmanager
def _returning(decoder: PreTrainedModel, hidden: torch.Tensor) -> Iterator[None]:
    """Inside the block the decoder returns ``hidden`` for any call, so that a call of the model runs its head alone."""
    saved = decoder.__dict__.get("forward")
    decoder.forward = lambda *arguments, **keywords: _Hidden(last_hidden_state=hidden)
    try:
        yield
    finally:
        if saved is None:
            del decoder.forward
        else:
            decoder.forward = saved
