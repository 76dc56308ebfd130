"""Models that take no tree mask but can go on from what they keep of a text: recurrent, hybrid and ALiBi ones.

What a prefix leaves behind (recurrent states, keys and values) is computed once and copied to each text that goes on
from it. Every row is one text, padded on the right, so no mask is needed.
"""

import copy
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from transformers import Cache, PreTrainedModel

from biasatlas.engine import plan
from biasatlas.engine.memory import Memory
from biasatlas.engine.tree import Cached, Tree

#: What a decoder calls the states that it takes and gives back.
_NAMES = ("past_key_values", "cache_params", "state")
#: Most bytes of the states of one pass's rows.
_COPIES = 2**30


class States(Tree):
    """A causal language model that computes every prefix that several texts share once, and copies its states."""

    def __init__(self, model: PreTrainedModel, memory: Memory):
        super().__init__(model, memory)
        self.row_tokens = 0
        taken = inspect.signature(type(self.forward.decoder).forward).parameters
        self.name = next((name for name in _NAMES if name in taken), _NAMES[0])

    @torch.inference_mode()
    def _forward(self, layout: plan.Layout, cached: Cached, keep: bool) -> tuple[torch.Tensor | None, Any]:
        """As of a tree, with rows that are texts; the states are copies, since a decoder overwrites them."""
        rows, width = layout.ids.shape
        if not width:
            return None, None
        states = {self.name: copies(cached.state, rows)} if cached.state is not None else {}
        ids = torch.as_tensor(layout.ids, device=self.device)
        if width == 1 and not keep:  # some decoders have a short cut for single tokens that mixes up several rows
            ids = torch.nn.functional.pad(ids, (0, 1))
        output = self.forward.decoder(input_ids=ids, use_cache=keep or bool(states), **states)
        self.tokens_fed += layout.fed
        return output.last_hidden_state[:, :width], getattr(output, self.name) if keep else None

    def _most_rows(self, cached: Cached) -> int:
        size = sum(tensor.nbytes for tensor in _tensors(cached.state))
        return max(1, _COPIES // size) if size else super()._most_rows(cached)


def copies(state: Any, rows: int) -> Any:
    """What one text left behind, for each of ``rows`` that go on from it."""
    if isinstance(state, list):
        return [tensor.repeat_interleave(rows, 0) for tensor in state]
    copied = copy.deepcopy(state)
    if rows > 1:
        copied.reorder_cache(torch.zeros(rows, dtype=torch.long))
    return copied


def _tensors(state: Any) -> Iterator[torch.Tensor]:
    """All tensors in a cache, whatever its layers call them."""
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, Cache):
        yield from _tensors([vars(layer) for layer in state.layers])
    elif isinstance(state, list | dict):
        for part in state.values() if isinstance(state, dict) else state:
            yield from _tensors(part)
