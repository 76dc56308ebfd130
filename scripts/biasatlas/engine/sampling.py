"""Sampling settings applied to logits, and draws whose noise belongs to a request instead of to a batch."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

#: How many of the most probable tokens are tried first, and the factor by which that grows while they hold too little.
_FIRST, _MORE = 64, 8
#: Tokens of a block: a vocabulary's largest values are searched for in the blocks with the largest maxima.
_BLOCK = 64


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


@dataclass(frozen=True)
class Likely:
    """The most probable next tokens of some ``rows`` of a batch: ``ids`` (rows × k) by falling ``mass`` (float64).

    The mass is what sampling gives a token among all of the vocabulary, 0 where it is excluded.
    """

    rows: torch.Tensor
    ids: torch.Tensor
    mass: torch.Tensor


def penalise(
    logits: torch.Tensor, prompts: Sequence[np.ndarray], answers: Sequence[Sequence[int]], sampling: Sampling
) -> None:
    """Penalise, in place, the logits (fp32, rows × vocabulary) of tokens that prompt or answer has so far.

    Repetition penalty first (positive logits divided, negative multiplied), as in the transformers library, which has
    no frequency penalty: that is subtracted once for each occurrence, as OpenAI's API documents it.
    """
    if sampling.repetition_penalty != 1:
        seen = _padded([np.append(p, np.asarray(a, np.int64)) for p, a in zip(prompts, answers, strict=True)])
        seen = torch.as_tensor(seen, device=logits.device)
        found = logits.gather(1, seen)
        penalty = sampling.repetition_penalty
        logits.scatter_(1, seen, torch.where(found < 0, found * penalty, found / penalty))
    if sampling.frequency_penalty:
        for row, answer in enumerate(answers):
            if len(answer):
                written = torch.as_tensor(np.asarray(answer, np.int64), device=logits.device)
                once = torch.full(written.shape, -float(sampling.frequency_penalty), device=logits.device)
                logits[row].index_add_(0, written, once)


def _padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """The rows, padded to one length with their own first value (0 if they have none)."""
    padded = np.zeros((len(rows), max(1, *map(len, rows))), np.int64)
    for row, values in zip(padded, rows, strict=True):
        row[:] = values[0] if len(values) else 0
        row[: len(values)] = values
    return padded


def likely(logits: torch.Tensor, sampling: Sampling, enough: torch.Tensor) -> Iterator[Likely]:
    """Yield the most probable tokens, with at least the share ``enough`` (one per row) of the mass; each row once.

    ``logits`` (fp32, rows × vocabulary, penalised) are overwritten. As in the transformers library: temperature, top-k
    (with ties), top-p. A vocabulary is sorted only if its most probable tokens hold too little. All tokens that top-k
    and top-p leave are yielded.
    """
    rows, vocabulary = torch.arange(len(logits), device=logits.device), logits.shape[1]
    if sampling.temperature == 0:
        yield Likely(
            rows, logits.argmax(-1, keepdim=True), torch.ones(len(rows), 1, dtype=torch.float64).to(logits.device)
        )
        return
    if sampling.temperature != 1:
        logits /= sampling.temperature
    if 0 < sampling.top_k < vocabulary:
        values, ids = _largest(logits, sampling.top_k + 1)
        tied = values[:, -1] == values[:, -2]
        if not tied.all():
            mass = values[~tied, :-1].double().softmax(-1)
            yield Likely(rows[~tied], ids[~tied, :-1], _nucleus(mass, sampling.top_p))
        if not tied.any():
            return
        rows, logits = rows[tied], logits[tied]
        logits[logits < values[tied, -1:]] = -torch.inf
    torch.softmax(logits, -1, out=logits)
    least = torch.full_like(enough, sampling.top_p) if sampling.top_p < 1 else enough
    size = min(_FIRST, vocabulary)
    while len(rows):
        mass, ids = _largest(logits, size)
        mass = mass.double()
        done = (mass.sum(-1) >= least[rows]) | (mass[:, -1] == 0) | (size == vocabulary)
        if done.any():
            yield Likely(rows[done], ids[done], _nucleus(mass[done], sampling.top_p))
        if not done.all():
            rows, logits = rows[~done], logits[~done]
        else:
            return
        size = min(size * _MORE, vocabulary)


def _nucleus(mass: torch.Tensor, top_p: float) -> torch.Tensor:
    """Falling masses after top-p: those preceded by less than ``top_p`` are scaled to a sum of 1, all others are 0."""
    if top_p >= 1:
        return mass
    before = mass.cumsum(-1) - mass
    kept = before < top_p
    kept[:, 0] = True
    mass = torch.where(kept, mass, 0.0)
    return mass / mass.sum(-1, keepdim=True)


def _largest(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The ``count`` largest values of each row, falling, and their positions."""
    rows, width = values.shape
    blocks = width // _BLOCK
    if blocks < 4 * count:
        return values.topk(count)
    # They all lie in the blocks with the largest maxima (or in the rest): 2.5 times as fast as a look at each value.
    whole = values[:, : blocks * _BLOCK].unflatten(1, (blocks, _BLOCK))
    chosen = whole.amax(-1).topk(count).indices
    where = (chosen[:, :, None] * _BLOCK + torch.arange(_BLOCK, device=values.device)).flatten(1)
    rest = torch.arange(blocks * _BLOCK, width, device=values.device).expand(rows, -1)
    where = torch.cat([where, rest], 1)
    largest, at = values.gather(1, where).topk(count)
    return largest, where.gather(1, at)


def draw(
    logits: torch.Tensor,
    prompts: Sequence[np.ndarray],
    answers: Sequence[Sequence[int]],
    samplings: Sequence[Sampling],
    seeds: Sequence[int],
) -> np.ndarray:
    """The next token of each row (fp32 logits, rows × vocabulary, overwritten), drawn with the noise of its seed.

    The same logits and seed give the same token in any batch.
    """
    drawn = np.zeros(len(logits), np.int64)
    for sampling in dict.fromkeys(samplings):
        at = np.asarray([row for row, own in enumerate(samplings) if own == sampling])
        part = logits if len(at) == len(logits) else logits[torch.as_tensor(at, device=logits.device)]
        penalise(part, [prompts[row] for row in at], [answers[row] for row in at], sampling)
        seed = torch.as_tensor([seeds[row] for row in at], device=logits.device)[:, None]
        if sampling.top_p >= 1 and not 0 < sampling.top_k < logits.shape[1] and sampling.temperature:
            drawn[at] = _draw_of_all(part.div_(sampling.temperature), seed).cpu().numpy()
            continue
        for found in likely(part, sampling, torch.ones(len(at), dtype=torch.float64, device=logits.device)):
            noisy = found.mass.log() + gumbel(seed[found.rows], found.ids)
            best = found.ids.gather(1, noisy.argmax(-1, keepdim=True))[:, 0]
            drawn[at[found.rows.cpu().numpy()]] = best.cpu().numpy()
    return drawn


def _draw_of_all(logits: torch.Tensor, seed: torch.Tensor) -> torch.Tensor:
    """A draw from the whole vocabulary: first a block of it, by the sum of its masses, then a token of that block.

    Both draws use Gumbel noise; blocks have theirs at positions beyond the vocabulary. That takes a sixtieth of the
    noise of a draw in one step.
    """
    vocabulary = logits.shape[1]
    mass = torch.softmax(logits, -1, out=logits)
    if vocabulary % _BLOCK:
        mass = torch.nn.functional.pad(mass, (0, _BLOCK - vocabulary % _BLOCK))
    blocks = mass.unflatten(1, (-1, _BLOCK))
    positions = torch.arange(blocks.shape[1], device=logits.device)
    block = (blocks.sum(-1).double().log() + gumbel(seed, vocabulary + positions)).argmax(-1, keepdim=True)
    ids = block * _BLOCK + torch.arange(_BLOCK, device=logits.device)
    noisy = mass.gather(1, ids).double().log() + gumbel(seed, ids)
    return ids.gather(1, noisy.argmax(-1, keepdim=True))[:, 0]


def seed_of(*content: object) -> int:
    """64 bits (signed) that depend on the content alone."""
    digest = hashlib.blake2b(digest_size=8)
    for part in content:
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"\0")
    return int.from_bytes(digest.digest(), "little", signed=True)


def gumbel(seed: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Gumbel noise (float64) at positions of a seed: the largest of logits + noise is a draw from their softmax.

    It comes from the splitmix64 generator at seed + position, so it is the same on every device and in every batch. Of
    the ways to draw with fixed noise, rounding of the logits changes this one least: only a tie of the best two flips.
    """
    state = (positions + seed) * -7046029254386353131
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
        state = (state ^ _shift(state, shift)) * factor
    uniform = (_shift(state ^ _shift(state, 31), 11).double() + 0.5) / 2**53
    return -torch.log(-torch.log(uniform))


def _shift(state: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical shift to the right of signed 64-bit integers."""
    return (state >> bits) & ((1 << (64 - bits)) - 1)
