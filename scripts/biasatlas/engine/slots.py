"""Keys and values of texts that grow side by side, each in a slot of its own."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import Cache
from transformers.cache_utils import DynamicLayer

from biasatlas.engine.forward import Forward
from biasatlas.engine.live import LiveRows, Node, taken


class _SlotLayer(DynamicLayer):
    """Keys and values of one layer (slots × heads × room × size): each slot has its text in the columns from 0 on."""

    lengths: torch.Tensor
    width: int

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Put one more token behind each text; what the texts have now, as views as wide as the longest."""
        lengths = self.lengths.to(self.keys.device)
        rows = torch.arange(len(lengths), device=lengths.device)
        self.keys[rows, :, lengths] = key_states[:, :, 0]
        self.values[rows, :, lengths] = value_states[:, :, 0]
        return self.keys[: len(rows), :, : self.width], self.values[: len(rows), :, : self.width]


class Slots:
    """At most ``slots`` texts that grow by a token each at a time; ``lengths`` has the tokens of each, in its slot."""

    def __init__(self, forward: Forward, slots: int):
        self.forward, self.slots = forward, slots
        self.lengths: list[int] = []
        self._cache = Cache(layers=[])
        self._room = 0

    def add(self, live: LiveRows, nodes: Sequence[Node]) -> None:
        """Texts that end at some nodes of rows that were fed, in the next slots."""
        first, end = len(self.lengths), len(self.lengths) + len(nodes)
        self.lengths += [len(node.columns) for node in nodes]
        rows, columns = live.paths(nodes)
        if not self._cache.layers:
            self._cache.layers = [self._layer(kept) for kept in live.cache.layers]
        self._widen(columns.shape[1] + 1)
        for layer, kept in zip(self._cache.layers, live.cache.layers, strict=True):
            if kept.keys is not None:
                layer.keys[first:end, :, : columns.shape[1]] = taken(kept.keys, rows, columns)
                layer.values[first:end, :, : columns.shape[1]] = taken(kept.values, rows, columns)

    def feed(self, tokens: Sequence[int]) -> torch.Tensor:
        """Let one token follow each text: their hidden states (texts × hidden)."""
        to = self.forward.device
        lengths = torch.as_tensor(self.lengths, device=to)
        width = max(self.lengths) + 1
        self._widen(width)
        for layer in self._cache.layers:
            layer.lengths, layer.width = lengths, width
        columns = torch.arange(width, device=to)
        visible = (columns <= lengths[:, None])[:, None]
        ids = torch.as_tensor(tokens, device=to)[:, None]
        hidden = self.forward.feed(ids, lengths[:, None], visible, self._cache, columns[None, :-1])
        self.lengths = [length + 1 for length in self.lengths]
        return hidden[:, 0]

    def remove(self, slot: int) -> None:
        """Give up a text: the last one takes its slot."""
        last = len(self.lengths) - 1
        for layer in self._cache.layers:
            if layer.keys is not None and slot != last:
                for kept in (layer.keys, layer.values):
                    kept[slot, :, : self.lengths[last]] = kept[last, :, : self.lengths[last]]
        self.lengths[slot] = self.lengths[last]
        self.lengths.pop()

    def _layer(self, like: DynamicLayer) -> _SlotLayer:
        layer = _SlotLayer()
        if like.keys is not None:  # layers that look at an image keep nothing of a text
            layer.lazy_initialization(like.keys, like.values)
            layer.keys, layer.values = (
                kept.new_zeros(self.slots, kept.shape[1], 0, kept.shape[3]) for kept in (like.keys, like.values)
            )
        return layer

    def _widen(self, width: int) -> None:
        """Make room for texts of ``width`` tokens, and an eighth more, so that it is not made anew for each token."""
        if width <= self._room:
            return
        more = width + width // 8 - self._room
        self._room += more
        for layer in self._cache.layers:
            if layer.keys is not None:
                layer.keys, layer.values = (pad(kept, (0, 0, 0, more)) for kept in (layer.keys, layer.values))
