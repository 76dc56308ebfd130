"""The forward passes of a token trie: cached prefixes, rows of subtrees under a tree mask, and the LM head."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel

from biasatlas.engine import plain, plan
from biasatlas.engine.memory import Memory, NotFiniteError


@dataclass(frozen=True)
class Cached:
    """A prefix already computed: keys and values by layer, the hidden state of its last token (1 × hidden), and the
    log-probability of each of its tokens (NaN where no sequence scores it)."""

    layers: list[tuple[torch.Tensor, torch.Tensor]]
    last: torch.Tensor | None
    log_probabilities: np.ndarray


#: Reads values off hidden states (distinct asks × hidden), one for each of a layout's asks.
Head = Callable[[torch.Tensor, plan.Layout], np.ndarray]


def tree_mask(end: torch.Tensor) -> torch.Tensor:
    """Which token sees which: rows × 1 × width × width booleans, j visible to i when j ≤ i < end[j] (rows × width)."""
    at = torch.arange(end.shape[1], device=end.device)
    return ((at <= at[:, None]) & (at[:, None] < end[:, None, :]))[:, None]


def decoder(model: PreTrainedModel) -> PreTrainedModel:
    """The part of a model that turns tokens into hidden states: of a composite model, that of its text."""
    if model.config.get_text_config() is model.config and model.base_model is not model:
        return model.base_model
    found = model.get_decoder()
    while hasattr(found, "lm_head"):  # some composite models hold a causal model, others its decoder
        found = found.model
    return found


class Tree:
    """A causal language model that computes every distinct prefix once.

    Rows add ``row_tokens`` tokens to their first sequence, and one more forward pass is worth ``pass_tokens`` (see
    :func:`biasatlas.engine.plan.plan_prefixes`): measured on a CPU, estimated for a GPU. ``tokens_fed`` counts what was
    fed so far, without padding.
    """

    def __init__(self, model: PreTrainedModel, memory: Memory):
        self.model = model
        self.decoder = decoder(model)
        self.memory = memory
        self.device = model.get_input_embeddings().weight.device
        self.row_tokens, self.pass_tokens = (256, 64) if self.device.type == "cpu" else (512, 512)
        self.tokens_fed = 0

    def log_likelihoods(self, trie: plan.Trie, done: Callable[[int], None] = lambda n: None) -> np.ndarray:
        """Sum of log p(tokens[start:] | tokens[:start]) of each sequence of the trie, in nats (float64).

        ``done`` is told the number of sequences after each pass. Raises NotFiniteError for a NaN or an infinity, and
        the device's out-of-memory error where a single sequence is too long.
        """
        return self._run(trie, self._log_probabilities, done)

    def next_logits(self, tokens: list[np.ndarray], visit: Callable[[int, torch.Tensor], None]) -> None:
        """Call ``visit(i, logits)`` once for each sequence, in any order, with the fp32 logits after its last token.

        A visit may come again with the same logits when memory ran out in between.
        """
        ends = np.fromiter(map(len, tokens), np.int64, len(tokens))
        trie, where = plan.build_trie([np.append(ids, np.int32(0)) for ids in tokens], ends)
        asking: list[list[int]] = [[] for _ in trie.tokens]
        for i, at in enumerate(where):
            asking[at].append(i)

        def head(hidden: torch.Tensor, layout: plan.Layout) -> np.ndarray:
            for rows, logits in self._logits(hidden):
                for at in np.flatnonzero((layout.slot >= rows.start) & (layout.slot < rows.stop)):
                    for i in asking[layout.sequence[at]]:
                        visit(i, logits[layout.slot[at] - rows.start])
            return np.zeros(len(layout.slot))

        self._run(trie, head, lambda n: None)

    def _run(self, trie: plan.Trie, head: Head, done: Callable[[int], object]) -> np.ndarray:
        values = np.zeros(len(trie.tokens))
        stack = [(plan.plan_prefixes(trie, self.row_tokens, self.pass_tokens), Cached([], None, np.zeros(0)))]
        while stack:
            prefix, cached = stack.pop()
            if prefix.end:
                cached = self._extend(trie, prefix, cached, head)
            self._run_rows(trie, prefix, cached, head, values, done)
            stack.extend((child, cached) for child in reversed(prefix.children))
        return values

    def _extend(self, trie: plan.Trie, prefix: plan.Prefix, cached: Cached, head: Head) -> Cached:
        """Compute one more prefix on top of a cached one."""
        layout = plan.lay_out_prefix(trie, prefix)
        hidden, layers = self._forward(layout, cached, keep=True)
        found = self._ask(layout, hidden, cached, head)
        if not np.isfinite(found).all():
            raise NotFiniteError(prefix.of, float(found[~np.isfinite(found)][0]))
        log_probabilities = np.full(prefix.end, np.nan)
        log_probabilities[: prefix.begin] = cached.log_probabilities
        log_probabilities[prefix.end - len(found) :] = found
        return Cached(layers, hidden[0, -1:], log_probabilities)

    def _run_rows(
        self,
        trie: plan.Trie,
        prefix: plan.Prefix,
        cached: Cached,
        head: Head,
        values: np.ndarray,
        done: Callable[[int], object],
    ) -> None:
        left = prefix.members
        while len(left):
            rows = plan.cut_rows(trie, left, prefix.end, min(self.row_tokens, self.memory.token_budget))
            widths = [plan.row_width(trie, row, prefix.end) for row in rows]
            waiting = set(range(len(rows)))
            for batch in plan.pack_batches(widths, self.memory.token_budget, self.pass_tokens):
                members = np.concatenate([rows[row] for row in batch])
                layout = plan.lay_out(trie, [rows[row] for row in batch], prefix.end)
                splittable = len(batch) > 1 or (len(members) > 1 and self.memory.token_budget > 1)
                with self.memory.halved_if_exhausted(splittable) as attempt:
                    found = self._ask(layout, self._forward(layout, cached, keep=False)[0], cached, head)
                if attempt.failed:
                    break
                if not np.isfinite(found).all():
                    self._blame(trie, members, layout, found)
                np.add.at(values, layout.sequence, found)
                for i in members[trie.start[members] < prefix.end]:
                    values[i] += cached.log_probabilities[trie.start[i] :].sum()
                waiting.difference_update(batch)
                done(len(members))
            left = np.concatenate([rows[row] for row in sorted(waiting)] or [left[:0]])

    @torch.inference_mode()
    def _forward(
        self, layout: plan.Layout, cached: Cached, keep: bool
    ) -> tuple[torch.Tensor | None, list[tuple[torch.Tensor, torch.Tensor]]]:
        """Hidden states (rows × width × hidden; None if nothing is fed) and, if asked for, the cache's new layers."""
        rows, width = layout.ids.shape
        if not width:
            return None, []
        depth = len(cached.log_probabilities)
        ids, position, end = (torch.as_tensor(a, device=self.device) for a in (layout.ids, layout.position, layout.end))
        mask = torch.nn.functional.pad(tree_mask(end), (depth, 0), value=True)
        if self.decoder.config._attn_implementation == "eager":  # adds the mask to the scores: a boolean would be wrong
            lowest = torch.finfo(self.model.dtype).min
            mask = torch.zeros(mask.shape, dtype=self.model.dtype, device=self.device).masked_fill_(~mask, lowest)
        # Without the configuration the cache keeps every token; with it, sliding layers would drop the first ones.
        cache = DynamicCache()
        for layer, (key, value) in enumerate(cached.layers):
            if key is not None:  # layers that look at an image keep nothing of a text
                cache.update(key.expand(rows, -1, -1, -1), value.expand(rows, -1, -1, -1), layer)
        hidden = self.decoder(
            input_ids=ids,
            attention_mask=mask,
            position_ids=position,
            past_key_values=cache if keep or depth else None,
            use_cache=keep or depth > 0,
        ).last_hidden_state
        self.tokens_fed += layout.fed
        return hidden, [(layer.keys, layer.values) for layer in cache.layers] if keep else []

    @torch.inference_mode()
    def _ask(self, layout: plan.Layout, hidden: torch.Tensor | None, cached: Cached, head: Head) -> np.ndarray:
        """What ``head`` finds for each ask; only the distinct hidden states that are asked for reach it."""
        if not len(layout.sequence):
            return np.zeros(0)
        states = [cached.last] if layout.after_prefix else []
        if hidden is not None and len(layout.parent):
            states.append(hidden.flatten(0, 1)[torch.as_tensor(layout.parent, device=hidden.device)])
        return head(torch.cat(states), layout)

    def _blame(self, trie: plan.Trie, members: np.ndarray, layout: plan.Layout, found: np.ndarray) -> None:
        """Raise NotFiniteError for the sequence at fault: attention may have carried its NaN to others of its row."""
        try:
            plain.log_likelihoods(self.model, [trie.tokens[i] for i in members], trie.start[members], self.memory)
        except NotFiniteError as error:
            raise NotFiniteError(int(members[error.sequence]), error.value) from None
        first = np.flatnonzero(~np.isfinite(found))[0]
        raise NotFiniteError(int(layout.sequence[first]), float(found[first]))

    def _log_probabilities(self, hidden: torch.Tensor, layout: plan.Layout) -> np.ndarray:
        found = np.empty(len(layout.slot))
        order = np.argsort(layout.slot, kind="stable")
        slot = layout.slot[order]
        for rows, logits in self._logits(hidden):
            part = order[np.searchsorted(slot, rows.start) : np.searchsorted(slot, rows.stop)]
            # In place: a second array of chunk × vocabulary costs more than the softmax itself.
            torch.log_softmax(logits, -1, out=logits)
            index = (
                torch.as_tensor(a, device=logits.device) for a in (layout.slot[part] - rows.start, layout.target[part])
            )
            found[part] = logits[tuple(index)].double().cpu().numpy()
        return found

    def _logits(self, hidden: torch.Tensor) -> Iterator[tuple[range, torch.Tensor]]:
        """Chunks of rows and their fp32 logits, as the architecture scales and caps them."""
        config = self.model.config.get_text_config()
        scale = getattr(config, "logit_scale", None) or 1 / (getattr(config, "logits_scaling", None) or 1)
        cap = getattr(config, "final_logit_softcapping", None)
        chunk = max(1, self.memory.token_budget // 4)
        for first in range(0, len(hidden), chunk):
            logits = self.model.get_output_embeddings()(hidden[first : first + chunk]).float()
            if scale != 1:
                logits *= scale
            if cap:
                logits.div_(cap).tanh_().mul_(cap)
            yield range(first, first + len(logits)), logits
