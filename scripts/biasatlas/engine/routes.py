"""How the forward passes of a model are made: as a token tree where that is exact for it, else as padded batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine import plain
from biasatlas.engine.memory import Memory
from biasatlas.engine.states import States
from biasatlas.engine.tree import Tree


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
