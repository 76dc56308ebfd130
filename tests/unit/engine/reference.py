"""What a model computes in one forward pass for each whole sequence; nothing here is shared with the engine."""

from collections.abc import Callable, Sequence

import torch
from transformers import PreTrainedModel


@torch.inference_mode()
def log_probabilities(model: PreTrainedModel, ids: Sequence[int]) -> torch.Tensor:
    """log p of any next token after each of ``ids`` (tokens × vocabulary, float64)."""
    return model(input_ids=torch.tensor([list(ids)]), use_cache=False).logits[0].double().log_softmax(-1)


def log_likelihood(model: PreTrainedModel, ids: Sequence[int], start: int) -> float:
    """Sum of log p(ids[start:] | ids[:start]) in nats."""
    found = log_probabilities(model, ids)
    return sum(found[at - 1, int(ids[at])].item() for at in range(start, len(ids)))


def greedy(model: PreTrainedModel, prompt: Sequence[int], longest: int, end: int) -> list[int]:
    """The likeliest next token, again and again, until ``end`` (left out) or ``longest`` tokens."""
    answer: list[int] = []
    while len(answer) < longest:
        token = int(log_probabilities(model, [*prompt, *answer])[-1].argmax())
        if token == end:
            break
        answer.append(token)
    return answer


def outcomes(
    model: PreTrainedModel,
    prompt: Sequence[int],
    read: Callable[[list[int], bool], int | None],
    count: int,
    longest: int,
    top_k: int,
    end: int,
) -> list[float]:
    """The probability of each outcome of sampling among the ``top_k`` likeliest tokens, over all possible answers.

    ``read`` gives the outcome of an answer, None while more tokens may change it; its second argument says that none
    will come.
    """
    found, answers = [0.0] * count, [([], 1.0)]
    for answer, mass in answers:
        best = log_probabilities(model, [*prompt, *answer])[-1].topk(top_k)
        for share, token in zip(best.values.softmax(-1).tolist(), best.indices.tolist(), strict=True):
            longer = answer if token == end else [*answer, token]
            outcome = read(longer, token == end or len(longer) == longest)
            if outcome is None:
                answers.append((longer, mass * share))
            else:
                found[outcome] += mass * share
    return found
