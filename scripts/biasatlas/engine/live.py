"""Rows of forward passes whose keys and values are kept, so that any of their tokens can be continued."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import pad
from transformers import Cache

from biasatlas.engine.forward import Forward
from biasatlas.engine.plan import Layout


@dataclass(frozen=True)
class Node:
    """A token of a row: ``columns`` are the columns of its text in that row, from the first token to this one."""

    row: int
    columns: np.ndarray

    def above(self, steps: int) -> "Node":
        """The token ``steps`` before this one in its text."""
        return Node(self.row, self.columns[: len(self.columns) - steps])


class LiveRows:
    """The rows of ``layout``, each after the same ``prefix`` tokens; ``cache`` has their keys and values."""

    def __init__(self, forward: Forward, cache: Cache, prefix: int, layout: Layout):
        self.forward, self.cache = forward, cache
        before = np.broadcast_to(np.arange(prefix), (len(layout.ids), prefix))
        self._depth = np.concatenate([before, layout.position], 1)  # each token's place in its text

    @property
    def rows(self) -> int:
        return len(self._depth)

    @property
    def tokens(self) -> int:
        """How many tokens' keys and values are kept."""
        return self._depth.size

    def asked(self, layout: Layout) -> list[Node]:
        """The node that each ask of ``layout`` follows; these rows were made from that layout."""
        rows, width = layout.ids.shape
        prefix = self._depth.shape[1] - width
        nodes = []
        for slot, sequence in zip(layout.slot.tolist(), layout.sequence.tolist(), strict=True):
            row, own = sequence % rows, np.zeros(0, np.int64)
            if slot or not layout.after_prefix:
                row, column = divmod(int(layout.parent[slot - layout.after_prefix]), width)
                own = np.flatnonzero(layout.end[row, : column + 1] > column)
            nodes.append(Node(row, np.append(np.arange(prefix), prefix + own)))
        return nodes

    def paths(self, nodes: Sequence[Node]) -> tuple[torch.Tensor, torch.Tensor]:
        """The row of each node, and the columns of its text (nodes × longest, padded with 0)."""
        columns = np.zeros((len(nodes), max(len(node.columns) for node in nodes)), np.int64)
        for to, node in zip(columns, nodes, strict=True):
            to[: len(node.columns)] = node.columns
        rows = np.asarray([node.row for node in nodes])
        return torch.as_tensor(rows, device=self.forward.device), torch.as_tensor(columns, device=self.forward.device)

    def feed(self, parents: Sequence[Node], tokens: Sequence[int]) -> tuple[torch.Tensor, list[Node]]:
        """Append each of ``tokens`` to its parent; return their hidden states (tokens × hidden) and nodes."""
        row = np.asarray([parent.row for parent in parents])
        column = np.empty(len(row), np.int64)
        for own in np.unique(row):
            column[row == own] = np.arange((row == own).sum())
        width, kept = int(column.max()) + 1, self._depth.shape[1]
        ids, depth = np.zeros((2, self.rows, width), np.int64)
        visible = np.zeros((self.rows, width, kept + width), bool)
        visible[:, np.arange(width), kept + np.arange(width)] = True
        ids[row, column] = tokens
        depth[row, column] = [len(parent.columns) for parent in parents]
        nodes = []
        for parent, at in zip(parents, column.tolist(), strict=True):
            visible[parent.row, at, parent.columns] = True
            nodes.append(Node(parent.row, np.append(parent.columns, kept + at)))
        to = self.forward.device
        arrays = (torch.as_tensor(array, device=to) for array in (ids, depth, visible))
        hidden = self.forward.feed(*arrays, self.cache, torch.as_tensor(self._depth, device=to))
        self._depth = np.concatenate([self._depth, depth], 1)
        # If a model spans several devices, the states are on the last one.
        return hidden[torch.as_tensor(row, device=hidden.device), torch.as_tensor(column, device=hidden.device)], nodes

    def keep(self, nodes: Sequence[Node]) -> list[Node]:
        """Drop all tokens that do not lead to ``nodes``; return these nodes as they are afterwards."""
        needed = {row: np.zeros(0, np.int64) for row in sorted({node.row for node in nodes})}
        for row in needed:
            needed[row] = np.unique(np.concatenate([node.columns for node in nodes if node.row == row]))
        rows, columns = self.paths([Node(row, own) for row, own in needed.items()])
        for layer in self.cache.layers:
            if layer.keys is not None:
                layer.keys, layer.values = (taken(kept, rows, columns) for kept in (layer.keys, layer.values))
        self._depth = np.take_along_axis(self._depth[list(needed)], columns.cpu().numpy(), 1)
        at = {row: i for i, row in enumerate(needed)}
        return [Node(at[node.row], np.searchsorted(needed[node.row], node.columns)) for node in nodes]

    def append(self, other: "LiveRows") -> int:
        """Append the rows of ``other`` to these; return the index of the first of them."""
        first, width = self.rows, max(self._depth.shape[1], other._depth.shape[1])
        for mine, its in zip(self.cache.layers, other.cache.layers, strict=True):
            if mine.keys is not None:
                mine.keys, mine.values = (
                    torch.cat([pad(kept, (0, 0, 0, width - kept.shape[2])) for kept in pair])
                    for pair in ((mine.keys, its.keys), (mine.values, its.values))
                )
        self._depth = np.concatenate(
            [np.pad(depth, ((0, 0), (0, width - depth.shape[1]))) for depth in (self._depth, other._depth)]
        )
        return first


def taken(kept: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Some ``rows`` of keys or values (rows × heads × tokens × size), and of each some tokens, its ``columns``.

    The result is on the device of ``kept``.
    """
    rows, columns = rows.to(kept.device), columns.to(kept.device)
    return kept[rows[:, None], :, columns].transpose(1, 2).contiguous()
