"""Sampling settings applied to logits, and noise that belongs to a request instead of to a batch."""

import hashlib
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Sampling:
    """All that decides the next token besides the logits. The defaults change nothing.

    ``temperature`` 0 is greedy; ``top_k`` 0 is off; ``frequency_penalty`` counts the tokens of the answer only,
    ``repetition_penalty`` looks at prompt and answer.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0


def warp(logits: torch.Tensor, prompt: torch.Tensor, answer: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Logits (fp32, vocabulary) whose softmax is the distribution that the next token is drawn from.

    ``prompt`` and ``answer`` hold the token ids so far. In the order of the transformers library: repetition penalty
    (positive logits divided, negative multiplied), [frequency penalty], temperature, top-k, top-p. The library has no
    frequency penalty; it is subtracted once for each occurrence, as OpenAI's API documents it. Excluded tokens: −inf.
    """
    logits = logits.clone()
    if sampling.repetition_penalty != 1:
        seen = torch.unique(torch.cat([prompt, answer]))
        found = logits[seen]
        logits[seen] = torch.where(found < 0, found * sampling.repetition_penalty, found / sampling.repetition_penalty)
    if sampling.frequency_penalty and len(answer):
        penalty = torch.full(answer.shape, -float(sampling.frequency_penalty), device=logits.device)
        logits.index_add_(0, answer, penalty)
    if sampling.temperature == 0:
        best = logits.argmax()
        return torch.full_like(logits, -torch.inf).index_fill_(0, best, 0.0)
    logits /= sampling.temperature
    if 0 < sampling.top_k < len(logits):
        logits[logits < logits.topk(sampling.top_k).values[-1]] = -torch.inf
    if sampling.top_p < 1:
        ascending, order = logits.sort(stable=True)
        drop = ascending.softmax(0).cumsum(0) <= 1 - sampling.top_p
        drop[-1] = False  # the most probable token always stays
        logits[order[drop]] = -torch.inf
    return logits


def seed_of(*content: object) -> int:
    """64 bits (signed) that depend on the content alone."""
    digest = hashlib.blake2b(digest_size=8)
    for part in content:
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"\0")
    return int.from_bytes(digest.digest(), "little", signed=True)


def gumbel(seed: int, vocabulary: int, device: torch.device) -> torch.Tensor:
    """Standard Gumbel noise (float64, vocabulary): the largest of logits + noise is a draw from their softmax.

    The splitmix64 generator at positions seed, seed + 1, ...: the same on every device and in every batch. Of the ways
    to draw with fixed noise this one moves least when logits move by rounding: only a tie between the best two flips.
    """
    state = (torch.arange(vocabulary, device=device) + seed) * -7046029254386353131
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
        state = (state ^ _shift(state, shift)) * factor
    uniform = (_shift(state ^ _shift(state, 31), 11).double() + 0.5) / 2**53
    return -torch.log(-torch.log(uniform))


def _shift(state: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical shift to the right of signed 64-bit integers."""
    return (state >> bits) & ((1 << (64 - bits)) - 1)
