"""How the forward passes of a model are made: as a token tree if that is exact for it, else from copied states of
shared prefixes, else as padded batches."""

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

#: Decoders' names for the states that they take and return.
_NAMES = ("past_key_values", "cache_params", "state")
#: The most bytes that the states of one pass's rows may take.
_COPIES = 2**30

#: Indices of texts, hidden states after their last tokens (texts × hidden) -> the next token of each, None at its end.
Pick = Callable[[list[int], torch.Tensor], Sequence[int | None]]


class States(Tree):
    """A model that takes no tree mask but can continue a text from its states: a recurrent, hybrid or ALiBi one.

    The states of a prefix (recurrent states, keys and values) are computed once and copied for each text that continues
    it. Every row is one text, padded on the right, so no mask is needed.
    """

    def __init__(self, model: PreTrainedModel, memory: Memory):
        super().__init__(model, memory)
        self.row_tokens = 0
        taken = inspect.signature(type(self.forward.decoder).forward).parameters
        self.name = next((name for name in _NAMES if name in taken), _NAMES[0])
        self._takes_positions = "position_ids" in taken  # without, some count from 0 in each pass

    def _forward(self, layout: plan.Layout, cached: Cached, keep: bool) -> tuple[torch.Tensor | None, Any]:
        """As in a tree, but each row is one text; states are copied first, since a decoder overwrites them."""
        rows, width = layout.ids.shape
        if not width:
            return None, None
        state = copy.deepcopy(cached.state)
        if state is not None and rows > 1:
            state = _chosen(state, [0] * rows)
        ids = torch.as_tensor(layout.ids, device=self.device)
        if width == 1 and not keep:  # some decoders have a short cut for single tokens that mixes up several rows
            ids = torch.nn.functional.pad(ids, (0, 1))
        hidden, state = self._go_on(ids, len(cached.log_probabilities), state, keep)
        self.tokens_fed += layout.fed
        return hidden[:, :width], state

    @torch.inference_mode()
    def _go_on(self, ids: torch.Tensor, first: int, state: Any, keep: bool = True) -> tuple[torch.Tensor, Any]:
        """Hidden states of ``ids`` (rows × width) after a state of ``first`` tokens, and the state after them."""
        states = {self.name: state} if state is not None else {}
        if self._takes_positions:
            states["position_ids"] = torch.arange(first, first + ids.shape[1], device=self.device).expand(len(ids), -1)
        output = self.forward.decoder(input_ids=ids, use_cache=keep or state is not None, **states)
        return output.last_hidden_state, getattr(output, self.name, None) if keep else None

    def write(self, texts: Sequence[np.ndarray], pick: Pick, wide: bool) -> None:
        """Continue ``texts`` with the tokens that ``pick`` gives, each until it gives None.

        All have the same length at any time: while the longer are fed, the shorter are continued. So no row is padded,
        and texts that are the same so far share one. Without ``wide`` the first pass is followed by single tokens.
        """
        own = [ids.tolist() for ids in texts]
        going, row = list(range(len(own))), [0] * len(own)
        state, at, had = None, 0, 0
        while going:
            end = at + 1 if at and not wide else min(len(own[i]) for i in going)
            if wide:
                end = min(end, at + max(1, self.memory.token_budget // len(going)))
                if not at:
                    end = next((n for n in range(end) if len({own[i][n] for i in going}) > 1), end) or end
            rows: dict[tuple, int] = {}
            for i in going:
                row[i] = rows.setdefault((row[i], *own[i][at:end]), len(rows))
            before = [key[0] for key in rows]
            if at and before != list(range(had)):
                state = _chosen(state, before)
            ids = torch.as_tensor([key[1:] for key in rows], device=self.device)
            (hidden, state), had = self._go_on(ids, at, state), len(rows)
            self.tokens_fed, at = self.tokens_fed + ids.numel(), end
            asked = [i for i in going if len(own[i]) == at]
            if asked:
                picked = pick(asked, hidden[[row[i] for i in asked], -1])
                for i, token in zip(asked, picked, strict=True):
                    own[i] += [] if token is None else [token]
                going = [i for i in going if len(own[i]) > at]

    def _most_rows(self, cached: Cached) -> int:
        size = sum(tensor.nbytes for tensor in _tensors(cached.state))
        return max(1, _COPIES // size) if size else super()._most_rows(cached)


def _chosen(state: Any, rows: Sequence[int]) -> Any:
    """The states of some ``rows``, each as often as it is listed. A cache is changed in place."""
    index = torch.as_tensor(rows)
    if isinstance(state, list):
        return [tensor[index.to(tensor.device)] for tensor in state]
    # In MiniMax's cache, reorder_cache moves keys and values only.
    own = "batch_select_indices" in vars(type(state))
    (state.batch_select_indices if own else state.reorder_cache)(index)
    return state


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
    """The route of a model's forward passes, and why it is not the tree ('' if it is).

    ``tree``: rows are subtrees under a tree mask, prefixes are cached. ``states``: rows are texts, and a prefix's
    states are copied to each text that continues it. ``plain``: one padded row for each sequence. Routes other than the
    tree write texts in ``rows`` side by side, each ``alone``, or ``anew``: the whole text is fed for each token.
    """

    name: str = "tree"
    reason: str = ""
    writes: str = "rows"


TREE = Route()
#: Routes other than the tree, in words.
IN_WORDS = {"states": "prefixes whose states are copied", "plain": "padded batches"}


def tree_of(model: PreTrainedModel, memory: Memory, route: Route) -> Tree:
    """The object that makes a model's forward passes by a ``route`` other than ``plain``."""
    return States(model, memory) if route.name == "states" else Tree(model, memory)


def log_likelihoods(
    model: PreTrainedModel, tokens: list[np.ndarray], start: np.ndarray, memory: Memory, route: Route = TREE
) -> tuple[np.ndarray, dict[str, int]]:
    """Sum of log p(tokens[start:] | tokens[:start]) of each sequence in nats (float64), and counts of tokens.

    Sequences are int32 ids, ``start`` at least 1 and below their length; equal ones are computed once.
    ``route`` is what ``choose_route`` found at load. The dictionary holds the tokens asked, unique (distinct prefixes)
    and fed. Raises NotFiniteError, whose ``sequence`` is an index into ``tokens``.
    """
    trie, where = plan.build_trie(tokens, start)
    progress = Progress("sequences", len(trie.tokens))
    try:
        if route.name == "plain":
            values = plain.log_likelihoods(model, trie.tokens, trie.start, memory, progress.advance)
            fed = int(trie.fed.sum())
        else:
            tree = tree_of(model, memory, route)
            try:
                values = tree.log_likelihoods(trie, progress.advance)
            except NotFiniteError:  # attention spreads it over a row; a row for each sequence shows whose it is
                plain.log_likelihoods(model, trie.tokens, trie.start, memory)
                raise
            fed = tree.tokens_fed
    except NotFiniteError as error:
        raise NotFiniteError(int(np.flatnonzero(where == error.sequence)[0]), error.value) from error
    asked = int(sum(map(len, tokens)) - len(tokens))
    return values[where], {"tokens_asked": asked, "tokens_unique": trie.unique_tokens, "tokens_fed": fed}
