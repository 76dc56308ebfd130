"""Log-likelihoods in padded batches: right for every causal model, and the fallback of the token trie."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine.memory import Memory, NotFiniteError


def log_likelihoods(
    model: PreTrainedModel,
    tokens: Sequence[np.ndarray],
    start: np.ndarray,
    memory: Memory,
    done: Callable[[int], None] = lambda n: None,
) -> np.ndarray:
    """Sum of log p(tokens[start:] | tokens[:start]) of each sequence, in nats (float64).

    Batches are sorted by length and padded on the right; only positions that predict a scored token reach the LM head.
    ``start`` is at least 1 and below the sequence's length. ``done`` gets the number of sequences after each batch.
    Raises NotFiniteError for a NaN or an infinity.
    """
    values = np.zeros(len(tokens))
    for batch, picked in _batches(model, tokens, start, memory, _picking(tokens, start)):
        values[batch] = [part.sum().item() for part in picked]
        for i in batch:
            if not np.isfinite(values[i]):
                raise NotFiniteError(i, values[i])
        done(len(batch))
    return values


def _batches(
    model: PreTrainedModel,
    tokens: Sequence[np.ndarray],
    start: np.ndarray,
    memory: Memory,
    read: Callable[[torch.Tensor, list[int]], Any],
) -> Iterator[tuple[list[int], Any]]:
    """Yield, for each padded batch, the indices of its sequences and what ``read`` finds in their fp32 logits."""
    left = sorted(range(len(tokens)), key=lambda i: (-len(tokens[i]), i))  # the largest batch comes first
    while left:
        batch = left[: _fitting(left, tokens, start, memory.token_budget)]
        with memory.halved_if_exhausted(splittable=len(batch) > 1) as attempt:
            found = read(_logits(model, [tokens[i] for i in batch], start[batch]), batch)
        if not attempt.failed:
            yield batch, found
            left = left[len(batch) :]


def _fitting(left: list[int], tokens: Sequence[np.ndarray], start: np.ndarray, token_budget: int) -> int:
    """How many of the next sequences keep tokens within the budget, and scored positions within a quarter of it."""
    scored = np.cumsum([len(tokens[i]) - start[i] for i in left[:token_budget]])
    return max(1, min(token_budget // len(tokens[left[0]]), int(np.searchsorted(scored, token_budget // 4, "right"))))


#: Takes indices of sequences and the fp32 logits after their last tokens (indices × vocabulary); may overwrite these.
Visit = Callable[[Sequence[int], torch.Tensor], None]


def next_logits(model: PreTrainedModel, tokens: Sequence[np.ndarray], memory: Memory, visit: Visit) -> None:
    """Call ``visit`` with the logits after the sequences of each batch; again if memory runs out meanwhile."""
    ends = np.fromiter(map(len, tokens), np.int64, len(tokens))
    padded = [np.append(ids, np.int32(0)) for ids in tokens]
    for _ in _batches(model, padded, ends, memory, lambda logits, batch: visit(batch, logits)):
        pass


def token_log_probabilities(model: PreTrainedModel, tokens: list[np.ndarray], memory: Memory) -> list[np.ndarray]:
    """log p of every token but the first of each sequence, given those before it (float64), in padded batches."""
    start = np.ones(len(tokens), np.int64)
    found: dict[int, np.ndarray] = {}
    for batch, picked in _batches(model, tokens, start, memory, _picking(tokens, start)):
        found |= {i: part.numpy() for i, part in zip(batch, picked, strict=True)}
    return [found[i] for i in range(len(tokens))]


def _picking(
    tokens: Sequence[np.ndarray], start: np.ndarray
) -> Callable[[torch.Tensor, list[int]], tuple[torch.Tensor, ...]]:
    """A function that reads log p of each token of tokens[start:] (float64) off the logits of a batch's sequences."""

    def picked(logits: torch.Tensor, batch: list[int]) -> tuple[torch.Tensor, ...]:
        scored = [tokens[i][start[i] :] for i in batch]
        targets = torch.as_tensor(np.concatenate(scored).astype(np.int64), device=logits.device)
        found = torch.log_softmax(logits, -1).gather(1, targets[:, None])[:, 0].double().cpu()
        return found.split([len(ids) for ids in scored])

    return picked


@torch.inference_mode()
def _logits(model: PreTrainedModel, tokens: list[np.ndarray], start: np.ndarray) -> torch.Tensor:
    """The fp32 logits that predict tokens[start:] of each sequence, one after the other."""
    length = np.asarray([len(ids) - 1 for ids in tokens])
    column = np.arange(length.max())
    ids = np.zeros((len(tokens), length.max()), np.int64)
    mask = column < length[:, None]
    ids[mask] = np.concatenate([ids[:-1] for ids in tokens])
    scored = mask & (column >= start[:, None] - 1)
    device = model.get_input_embeddings().weight.device
    ids, mask, scored = (torch.as_tensor(array, device=device) for array in (ids, mask, scored))
    if len(set(getattr(model, "hf_device_map", {}).values())) > 1:
        # Hidden states are on the last device, and accelerate would move the mask to the first. A mask on the CPU can
        # index either.
        scored, hook = scored.cpu(), model._hf_hook
        skipped = [hook.skip_keys] if isinstance(hook.skip_keys, str) else hook.skip_keys or []
        hook.skip_keys = [*skipped, *({"logits_to_keep"} - {*skipped})]
    # Most of the library's own models take the positions to keep as a mask; code from a hub may know only "the last n".
    takes = inspect.signature(type(model).forward).parameters
    if "logits_to_keep" in takes and type(model).__module__.startswith("transformers."):
        logits = model(input_ids=ids, attention_mask=mask.long(), logits_to_keep=scored, use_cache=False).logits
    else:
        logits = model(input_ids=ids, attention_mask=mask.long(), use_cache=False).logits
        logits = logits[scored.to(logits.device)]
    return logits.float()
