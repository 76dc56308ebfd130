"""Log-likelihoods in padded batches: right for every causal model, and the fallback of the token trie."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

#: Logits of one batch, in numbers: with a vocabulary of 150,000 these are 220 positions or 128 MiB in fp32.
LOGITS = 2**25


def log_likelihoods(
    model,
    tokens: Sequence[np.ndarray],
    start: np.ndarray,
    token_budget: int,
    done: Callable[[int], None] = lambda n: None,
) -> np.ndarray:
    """Sum of log p(tokens[start:] | tokens[:start]) of each sequence, in nats (float64).

    Batches are sorted by length, padded on the right and cut at ``token_budget`` tokens; only positions that predict a
    scored token reach the LM head. ``start`` is at least 1 and below the sequence's length. ``done`` is told the number
    of sequences after each batch.
    """
    values = np.zeros(len(tokens))
    vocabulary = model.get_output_embeddings().weight.shape[0]
    for batch in _batches(tokens, start, token_budget, max(1, LOGITS // vocabulary)):
        fed = [tokens[i][:-1] for i in batch]
        width = max(map(len, fed))
        ids, mask, scored = (np.zeros((len(batch), width), kind) for kind in (np.int64, np.int64, bool))
        for row, i in enumerate(batch):
            ids[row, : len(fed[row])] = fed[row]
            mask[row, : len(fed[row])] = 1
            scored[row, start[i] - 1 : len(fed[row])] = True
        targets = np.concatenate([tokens[i][start[i] :] for i in batch])
        logits = _logits(model, ids, mask, scored)
        picked = torch.log_softmax(logits.float(), -1)[
            torch.arange(len(targets)), torch.as_tensor(targets, dtype=torch.long, device=logits.device)
        ]
        ends = np.cumsum(scored.sum(1))[:-1]
        values[batch] = [part.sum() for part in np.split(picked.double().cpu().numpy(), ends)]
        done(len(batch))
    return values


def _batches(tokens, start, token_budget, scored_budget) -> list[list[int]]:
    """Indices by falling length (so that the largest batch comes first), under both budgets."""
    batches, scored = [], 0
    for i in sorted(range(len(tokens)), key=lambda i: (-len(tokens[i]), i)):
        own = len(tokens[i]) - start[i]
        full = not batches or (len(batches[-1]) + 1) * len(tokens[batches[-1][0]]) > token_budget
        if full or scored + own > scored_budget:
            batches.append([])
            scored = 0
        batches[-1].append(i)
        scored += own
    return batches


@torch.inference_mode()
def _logits(model, ids, mask, scored) -> torch.Tensor:
    """Logits at the ``scored`` positions, row by row: a tensor of scored positions × vocabulary."""
    device = model.get_input_embeddings().weight.device
    ids, mask, scored = (torch.as_tensor(array, device=device) for array in (ids, mask, scored))
    # The library's own models take a boolean mask here; code from a hub may know only "the last n".
    if type(model).__module__.startswith("transformers."):
        return model(input_ids=ids, attention_mask=mask, logits_to_keep=scored, use_cache=False).logits
    return model(input_ids=ids, attention_mask=mask, use_cache=False).logits[scored]
