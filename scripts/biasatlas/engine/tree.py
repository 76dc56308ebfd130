"""The forward passes of a token trie: cached prefixes, rows of subtrees under a tree mask, and the LM head."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import PretrainedConfig, PreTrainedModel

from biasatlas.engine import plain, plan
from biasatlas.engine.forward import Forward, new_cache
from biasatlas.engine.live import LiveRows, Node
from biasatlas.engine.masks import tree_visible
from biasatlas.engine.memory import Memory, NotFiniteError, layer_shapes

#: How many passes may still be running on a GPU while the next one is planned and queued.
AHEAD = 2
#: Rows may add this many times ``row_tokens`` to their first sequence; prefixes are planned for ``row_tokens``.
WIDEST = 3
#: The cost of one more row, in tokens: as many are padded onto it.
ROW_WORTH = 4
#: The same if more tokens may follow: the row's keys and values, and those of the prefix, are kept, and each round
#: attends to them.
FOLLOWED_ROW_WORTH = 16


def to_device(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """An array as a tensor on ``device``. A GPU copies it from pinned memory without being waited for."""
    tensor = torch.as_tensor(array)
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


class Arriving:
    """The values of a tensor, which are copied to memory once the device has computed them."""

    def __init__(self, values: torch.Tensor):
        self._values = values.to("cpu", non_blocking=True)
        self._copied = torch.cuda.current_stream(values.device).record_event() if values.is_cuda else None

    def numpy(self) -> np.ndarray:
        """Wait for the values and return them."""
        if self._copied:
            self._copied.synchronize()
        return self._values.numpy()


@dataclass(frozen=True)
class Cached:
    """A prefix already computed: what the model keeps of it (None: nothing), the hidden state of its last token
    (1 × hidden), and the log-probability of each of its tokens (NaN where no sequence scores it)."""

    state: Any
    last: torch.Tensor | None
    log_probabilities: np.ndarray


#: Reads values off hidden states (distinct asks × hidden), one for each of a layout's asks.
Head = Callable[[torch.Tensor, plan.Layout], np.ndarray | torch.Tensor]


@dataclass
class _Run:
    """A trie, the ``values`` of its sequences so far, and the functions that :meth:`Tree.run` was given."""

    trie: plan.Trie
    head: Head
    done: Callable[[int], object]
    follow: Callable[[LiveRows, plan.Layout], None] | None

    def __post_init__(self) -> None:
        self.values = np.zeros(len(self.trie.tokens))

    def take(self, members: np.ndarray, layout: plan.Layout, cached: Cached, found: np.ndarray) -> None:
        """Add what was ``found`` for some rows, and their share of the cached prefix, to their sequences' values."""
        for at in np.flatnonzero(~np.isfinite(found)):
            raise NotFiniteError(int(layout.sequence[at]), float(found[at]))
        np.add.at(self.values, layout.sequence, found)
        start = self.trie.start
        for i in members[start[members] < len(cached.log_probabilities)]:
            self.values[i] += cached.log_probabilities[start[i] :].sum()
        self.done(len(members))


class Tree:
    """A causal language model that computes every distinct prefix once.

    Prefixes are planned for rows that add ``row_tokens`` tokens to their first sequence; rows may then add at most
    WIDEST times as many. One more forward pass costs as much as ``pass_tokens`` (see :mod:`biasatlas.engine.plan`),
    measured on a CPU, estimated for a GPU. ``tokens_fed`` counts the tokens fed so far, without padding.
    """

    def __init__(self, model: PreTrainedModel, memory: Memory):
        self.model = model
        self.forward = Forward(model)
        self.memory = memory
        self.device = self.forward.device
        self.row_tokens, self.pass_tokens = (256, 16) if self.device.type == "cpu" else (512, 170)
        self.columns = _columns_worth_a_token(self.forward.decoder.config)
        self.ahead = 0 if self.device.type == "cpu" else AHEAD
        self.tokens_fed = 0
        self._owed: deque[tuple[Arriving, Callable[[np.ndarray], None]]] = deque()

    def log_likelihoods(self, trie: plan.Trie, done: Callable[[int], None] = lambda n: None) -> np.ndarray:
        """Sum of log p(tokens[start:] | tokens[:start]) of each sequence of the trie, in nats (float64).

        ``done`` gets the number of sequences after each pass. Raises NotFiniteError for a NaN or an infinity, which may
        have come from another sequence of the row, and the device's out-of-memory error if a single one is too long.
        """
        return self.run(trie, self._log_probabilities, done)

    def next_logits(
        self,
        tokens: Sequence[np.ndarray],
        visit: plain.Visit,
        follow: Callable[[LiveRows, list[tuple[int, Node]]], None] | None = None,
    ) -> None:
        """Call ``visit`` with the logits after all sequences, in any order.

        Logits may come twice: if memory ran out in between, and, from a row for each sequence, after ``visit`` raised
        NotFiniteError. ``follow`` may append tokens to the rows of each pass: it gets the index of each sequence that
        ends in them, and its node.
        """
        ends = np.fromiter(map(len, tokens), np.int64, len(tokens))
        trie, where = plan.build_trie([np.append(ids, np.int32(0)) for ids in tokens], ends)
        asking: list[list[int]] = [[] for _ in trie.tokens]
        for i, at in enumerate(where):
            asking[at].append(i)

        def head(hidden: torch.Tensor, layout: plan.Layout) -> np.ndarray:
            pairs = sorted((slot, i) for slot, at in zip(layout.slot, layout.sequence, strict=True) for i in asking[at])
            states = hidden[torch.as_tensor(np.asarray([slot for slot, _ in pairs]), device=hidden.device)]
            texts = [i for _, i in pairs]
            own = lambda at, logits: visit([texts[k] for k in at], logits)  # noqa: E731
            self.read(states, lambda: [tokens[i] for i in texts], own)
            return np.zeros(len(layout.slot))

        def go_on(live: LiveRows, layout: plan.Layout) -> None:
            assert follow
            nodes = zip(live.asked(layout), layout.sequence, strict=True)
            follow(live, [(i, node) for node, at in nodes for i in asking[at]])

        self.run(trie, head, follow=go_on if follow else None)

    def read(self, hidden: torch.Tensor, tokens: Callable[[], Iterable[np.ndarray]], visit: plain.Visit) -> None:
        """Call ``visit`` with the logits of the hidden states (texts × hidden) after texts of these ``tokens``.

        Attention spreads a NaN over the texts of a row. If ``visit`` finds one, it is called again with logits from a
        row for each text, to find the text at fault.
        """
        try:
            for rows, logits in self.logits(hidden):
                visit(rows, logits)
        except NotFiniteError:
            plain.next_logits(self.model, list(tokens()), self.memory, visit)
            raise

    def run(
        self,
        trie: plan.Trie,
        head: Head,
        done: Callable[[int], object] = lambda n: None,
        follow: Callable[[LiveRows, plan.Layout], None] | None = None,
    ) -> np.ndarray:
        """The sum of what ``head`` finds for each sequence; ``follow`` may append tokens to the rows of each pass.

        After a pass ran out of memory, its sequences are computed in smaller ones.
        """
        run = _Run(trie, head, done, follow)
        self._owed.clear()
        stack = [(plan.plan_prefixes(trie, self.row_tokens, self.pass_tokens), Cached(None, None, np.zeros(0)))]
        while stack:
            prefix, cached = stack.pop()
            if prefix.end:
                cached = self._extend(run, prefix, cached)
            self._run_rows(run, prefix, cached)
            stack.extend((child, cached) for child in reversed(prefix.children))
        self._take(0)
        return run.values

    def _take(self, left: int) -> None:
        """Take in the values of passes that were queued, in their order, except those of the last ``left``."""
        while len(self._owed) > left:
            values, take = self._owed.popleft()
            take(values.numpy())

    def _extend(self, run: _Run, prefix: plan.Prefix, cached: Cached) -> Cached:
        """Compute one more prefix on top of a cached one; if memory runs out, by halves."""
        layout = plan.lay_out_prefix(run.trie, prefix)
        with self.memory.halved_if_exhausted(splittable=prefix.end - prefix.begin > 1) as attempt:
            hidden, state = self._forward(layout, cached, keep=True)
            found = self._ask(layout, hidden, cached, run.head)
        if attempt.failed:
            middle = (prefix.begin + prefix.end) // 2
            cached = self._extend(run, replace(prefix, end=middle), cached)
            return self._extend(run, replace(prefix, begin=middle), cached)
        log_probabilities = np.full(prefix.end, np.nan)

        def take(found: np.ndarray) -> None:
            if not np.isfinite(found).all():
                raise NotFiniteError(prefix.of, float(found[~np.isfinite(found)][0]))
            log_probabilities[: prefix.begin] = cached.log_probabilities
            log_probabilities[prefix.end - len(found) :] = found

        self._owed.append((found, take))
        self._take(self.ahead)
        return Cached(state, hidden[0, -1:] if hidden is not None else None, log_probabilities)

    def _run_rows(self, run: _Run, prefix: plan.Prefix, cached: Cached) -> None:
        trie, follow = run.trie, run.follow
        left = prefix.members
        while len(left):
            most = min(WIDEST * self.row_tokens, self.memory.token_budget)
            worth = ROW_WORTH if follow is None else FOLLOWED_ROW_WORTH
            rows = plan.cut_rows(trie, left, prefix.end, most, self.columns, worth)
            widths = [plan.row_width(trie, row, prefix.end) for row in rows]
            waiting, most_rows = set(range(len(rows))), self._most_rows(cached)
            for batch in plan.pack_batches(widths, self.memory.token_budget, max(self.pass_tokens, 0), most_rows):
                members = np.concatenate([rows[row] for row in batch])
                layout = plan.lay_out(trie, [rows[row] for row in batch], prefix.end)
                splittable = len(batch) > 1 or (len(members) > 1 and self.memory.token_budget > 1)
                with self.memory.halved_if_exhausted(splittable) as attempt:
                    hidden, cache = self._forward(layout, cached, keep=follow is not None)
                    found = self._ask(layout, hidden, cached, run.head)
                if attempt.failed:
                    break
                self._owed.append((found, partial(run.take, members, layout, cached)))
                self._take(self.ahead)
                if follow and cache is not None:
                    follow(LiveRows(self.forward, cache, prefix.end, layout), layout)
                waiting.difference_update(batch)
            left = np.concatenate([rows[row] for row in sorted(waiting)] or [left[:0]])

    def _forward(self, layout: plan.Layout, cached: Cached, keep: bool) -> tuple[torch.Tensor | None, Any]:
        """Hidden states (rows × width × hidden; None if nothing is fed) and, with ``keep``, the cache of the rows."""
        rows, width = layout.ids.shape
        prefix = len(cached.log_probabilities)
        if not width:
            return None, new_cache(cached.state, rows, keep) if keep else None
        ids, depth, end = (to_device(a, self.device) for a in (layout.ids, layout.position, layout.end))
        cache = new_cache(cached.state, rows, keep) if keep or prefix else None
        visible = torch.nn.functional.pad(tree_visible(end), (prefix, 0), value=True)
        cached_depth = torch.arange(prefix, device=self.device)[None]
        hidden = self.forward.feed(ids, depth, visible, cache, cached_depth)
        self.tokens_fed += layout.fed
        return hidden, cache if keep else None

    def _most_rows(self, cached: Cached) -> int:
        """The most rows of one pass on top of a cached prefix, however short they are."""
        return self.memory.token_budget

    @torch.inference_mode()
    def _ask(self, layout: plan.Layout, hidden: torch.Tensor | None, cached: Cached, head: Head) -> Arriving:
        """What ``head`` finds for each ask; only the distinct hidden states that are asked for reach it."""
        states = [cached.last] if layout.after_prefix else []
        if hidden is not None and len(layout.parent):
            states.append(hidden.flatten(0, 1)[to_device(layout.parent, hidden.device)])
        return Arriving(torch.as_tensor(head(torch.cat(states), layout)) if states else torch.zeros(0))

    def _log_probabilities(self, hidden: torch.Tensor, layout: plan.Layout) -> torch.Tensor:
        found = []
        order = np.argsort(layout.slot, kind="stable")
        slot, target = layout.slot[order], layout.target[order]
        for rows, logits in self.logits(hidden):
            part = slice(*np.searchsorted(slot, (rows.start, rows.stop)))
            # In place: a second array of chunk × vocabulary costs more than the softmax itself.
            torch.log_softmax(logits, -1, out=logits)
            index = (to_device(a, logits.device) for a in (slot[part] - rows.start, target[part]))
            found.append(logits[tuple(index)].double())
        values = torch.cat(found)
        return values[to_device(np.argsort(order), values.device)]

    def logits(self, hidden: torch.Tensor) -> Iterator[tuple[range, torch.Tensor]]:
        """Yield chunks of rows and their fp32 logits."""
        chunk = max(1, self.memory.token_budget // 4)
        for first in range(0, len(hidden), chunk):
            logits = self.forward.logits(hidden[first : first + chunk])
            yield range(first, first + len(logits)), logits


def _columns_worth_a_token(config: PretrainedConfig) -> float:
    """How many columns attention covers in the time of all else that a layer does for a token.

    Counted in operations of a gated layer, where attention under a mask has 0.6 of the rate of matrix products (5,000
    columns for a 0.5B model, measured on a CPU).
    """
    layers = layer_shapes(config)
    inner, attention = (
        sum(sizes) for sizes in zip(*((one.inner, one.heads * one.head_size) for one in layers), strict=True)
    )
    return 0.6 * config.hidden_size * (1 + 1.5 * inner / attention)
