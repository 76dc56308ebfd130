"""Log-likelihoods in padded batches: right for every causal model, and the fallback of the token trie."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from transformers import PreTrainedModel

from biasatlas.engine.limits import Memory, NotFiniteError


def log_likelihoods(
    model: PreTrainedModel,
    tokens: Sequence[np.ndarray],
    start: np.ndarray,
    memory: Memory,
    done: Callable[[int], None] = lambda n: None,
) -> np.ndarray:
    """Sum of log p(tokens[start:] | tokens[:start]) of each sequence, in nats (float64).

    Batches are sorted by length and padded on the right; only positions that predict a scored token reach the LM head.
    ``start`` is at least 1 and below the sequence's length. ``done`` is told the number of sequences after each batch.
    Raises NotFiniteError for a NaN or an infinity.
    """
    values = np.zeros(len(tokens))
    left = sorted(range(len(tokens)), key=lambda i: (-len(tokens[i]), i))  # the largest batch comes first
    while left:
        batch = left[: _fitting(left, tokens, start, memory.token_budget)]
        with memory.halved_if_exhausted(splittable=len(batch) > 1) as attempt:
            values[batch] = _batch(model, [tokens[i] for i in batch], start[batch])
        if attempt.failed:
            continue
        for i in batch:
            if not np.isfinite(values[i]):
                raise NotFiniteError(i, values[i])
        left = left[len(batch) :]
        done(len(batch))
    return values


def _fitting(left: list[int], tokens, start, token_budget: int) -> int:
    """How many of the next sequences keep tokens within the budget, and scored positions within a quarter of it."""
    scored = np.cumsum([len(tokens[i]) - start[i] for i in left[:token_budget]])
    return max(1, min(token_budget // len(tokens[left[0]]), int(np.searchsorted(scored, token_budget // 4, "right"))))


@torch.inference_mode()
def _batch(model: PreTrainedModel, tokens: list[np.ndarray], start: np.ndarray) -> list[float]:
    length = np.asarray([len(ids) - 1 for ids in tokens])
    column = np.arange(length.max())
    ids = np.zeros((len(tokens), length.max()), np.int64)
    mask = column < length[:, None]
    ids[mask] = np.concatenate([ids[:-1] for ids in tokens])
    scored = mask & (column >= start[:, None] - 1)
    device = model.get_input_embeddings().weight.device
    ids, mask, scored = (torch.as_tensor(array, device=device) for array in (ids, mask, scored))
    # The library's own models take the positions to keep as a mask; code from a hub may know only "the last n".
    if type(model).__module__.startswith("transformers."):
        logits = model(input_ids=ids, attention_mask=mask.long(), logits_to_keep=scored, use_cache=False).logits
    else:
        logits = model(input_ids=ids, attention_mask=mask.long(), use_cache=False).logits[scored]
    targets = torch.as_tensor(np.concatenate([ids[s:] for ids, s in zip(tokens, start, strict=True)]).astype(np.int64))
    picked = torch.log_softmax(logits.float(), -1).gather(1, targets.to(logits.device)[:, None])[:, 0]
    return [part.sum().item() for part in picked.double().cpu().split((length + 1 - start).tolist())]
