"""How the forward passes of a model are made: as a token tree where that is exact for it, else as padded batches."""

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import Cache, PreTrainedModel

from biasatlas.engine import plain, plan
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.tree import Cached, Tree
from biasatlas.progress import Progress

#: What a decoder calls the states that it takes and gives back.
_NAMES = ("past_key_values", "cache_params", "state")
#: Most bytes of the states of one pass's rows.
_COPIES = 2**30


class States(Tree):
    """A model that takes no tree mask but can go on from what it keeps of a text: a recurrent, hybrid or ALiBi one.

    What a prefix leaves behind (recurrent states, keys and values) is computed once and copied to each text that goes
    on from it. Every row is one text, padded on the right, so no mask is needed.
    """

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


@dataclass(frozen=True)
class Route:
    """The way that is right for a model, and why it is not the tree ('' where it is).

    ``tree``: rows are subtrees under a tree mask, prefixes are cached. ``states``: rows are texts, and what a prefix
    leaves behind is copied to all that go on from it. ``plain``: one padded row for each sequence. ``alone``: no text
    may be written beside others in a batch of the library's own loop. ``cached``: what that loop keeps of a text can be
    gone on from.
    """

    name: str = "tree"
    reason: str = ""
    alone: bool = False
    cached: bool = True


TREE = Route()
#: What a route other than the tree is, for people.
IN_WORDS = {"states": "prefixes whose states are copied", "plain": "padded batches"}


def tree_of(model: PreTrainedModel, memory: Memory, route: Route) -> Tree:
    """The trie's forward passes by a route other than ``plain``."""
    return States(model, memory) if route.name == "states" else Tree(model, memory)


def next_logits(
    model: PreTrainedModel,
    tokens: Sequence[np.ndarray],
    memory: Memory,
    visit: Callable[[int, torch.Tensor], None],
    route: Route = TREE,
) -> int:
    """Call ``visit(i, logits)`` for each sequence, in any order, with the fp32 logits after its last token.

    A visit may come again with the same logits when memory ran out in between. The tokens that were fed.
    """
    if route.name != "plain":
        tree = tree_of(model, memory, route)
        tree.next_logits(list(tokens), visit)
        return tree.tokens_fed
    plain.next_logits(model, tokens, memory, visit)
    return sum(map(len, tokens))


def log_likelihoods(
    model: PreTrainedModel, tokens: list[np.ndarray], start: np.ndarray, memory: Memory, route: Route = TREE
) -> tuple[np.ndarray, dict]:
    """Sum of log p(tokens[start:] | tokens[:start]) of each sequence in nats (float64), and how it was computed.

    Sequences are int32 ids, ``start`` at least 1 and below their length; equal ones are computed once.
    ``route`` is what ``choose_route`` found at load. The dictionary holds it and why, and the tokens asked, unique
    (distinct prefixes) and fed. Raises NotFiniteError, whose ``sequence`` is an index into ``tokens``.
    """
    trie, where = plan.build_trie(tokens, start)
    progress = Progress("sequences", len(trie.tokens))
    run = {"route": route.name, "reason": route.reason}
    try:
        if route.name == "plain":
            values = plain.log_likelihoods(model, trie.tokens, trie.start, memory, progress.advance)
            fed = int(trie.fed.sum())
        else:
            tree = tree_of(model, memory, route)
            values = tree.log_likelihoods(trie, progress.advance)
            fed = tree.tokens_fed
    except NotFiniteError as error:
        raise NotFiniteError(int(np.flatnonzero(where == error.sequence)[0]), error.value) from error
    asked = int(sum(map(len, tokens)) - len(tokens))
    return values[where], run | {"tokens_asked": asked, "tokens_unique": trie.unique_tokens, "tokens_fed": fed}
