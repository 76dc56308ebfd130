"""Free text in static batches: the library's decoding loop, with our own sampling."""

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, PreTrainedModel

from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.sampling import Sampling, gumbel, seed_of, warp
from biasatlas.progress import Progress


@dataclass(frozen=True)
class Prompt:
    """One text to generate: token ids, settings, and which of several repeats it is."""

    tokens: np.ndarray
    sampling: Sampling
    max_tokens: int
    repeat: int = 0

    @property
    def seed(self) -> int:
        """The key of its noise: content and repeat, so that a rerun gives the same text in any batch."""
        return seed_of(self.tokens.astype("<i4").tobytes(), dataclasses.astuple(self.sampling), self.repeat)


class _Draw(LogitsProcessor):
    """Turns logits into scores whose largest is the drawn token."""

    def __init__(self, prompts: Sequence[Prompt], width: int):
        self.prompts, self.width = prompts, width
        self.progress = Progress("tokens", prompts[0].max_tokens)

    def __call__(self, ids: torch.LongTensor, logits: torch.FloatTensor) -> torch.FloatTensor:
        if not torch.isfinite(logits.amax(-1)).all():
            row = int((~torch.isfinite(logits.amax(-1))).nonzero()[0, 0])
            raise NotFiniteError(row, float(logits[row].amax()))
        step = ids.shape[1] - self.width
        self.progress.reach(step)
        scores = []
        for row, prompt in enumerate(self.prompts):
            tokens = ids[row, self.width - len(prompt.tokens) :]
            prompted, answer = tokens[: len(prompt.tokens)], tokens[len(prompt.tokens) :]
            warped = warp(logits[row].float(), prompted, answer, prompt.sampling)
            if prompt.sampling.temperature > 0:
                warped = warped + gumbel(seed_of(prompt.seed, step), len(warped), warped.device)
            scores.append(warped)
        return torch.stack(scores)


def generate(
    model: PreTrainedModel,
    prompts: Sequence[Prompt],
    eos_token_ids: Sequence[int],
    memory: Memory,
) -> list[tuple[list[int], str]]:
    """The answer of each prompt, as token ids without the end token, and "stop" (an end token) or "length".

    Batches hold prompts of like length, padded on the left; with their answers, at most 16 times the budget's tokens.
    Raises NotFiniteError where logits are.
    """
    answers: list = [None] * len(prompts)
    progress = Progress("answers", len(prompts))
    left = sorted(range(len(prompts)), key=lambda i: (-prompts[i].max_tokens, -len(prompts[i].tokens), i))
    while left:
        longest = max(len(prompts[i].tokens) for i in left[: memory.token_budget])
        rows = max(
            1, min(16 * memory.token_budget // (longest + prompts[left[0]].max_tokens), memory.token_budget // 4)
        )
        batch = [i for i in left[:rows] if prompts[i].max_tokens == prompts[left[0]].max_tokens]
        with memory.halved_if_exhausted(splittable=len(batch) > 1) as attempt:
            try:
                with progress.part(len(batch)):
                    found = _batch(model, [prompts[i] for i in batch], eos_token_ids)
            except NotFiniteError as error:
                raise NotFiniteError(batch[error.sequence], error.value) from error
        if attempt.failed:
            continue
        for i, answer in zip(batch, found, strict=True):
            answers[i] = answer
        left = left[len(batch) :]
    return answers


def _batch(model: PreTrainedModel, prompts: list[Prompt], eos_token_ids: Sequence[int]) -> list[tuple[list[int], str]]:
    width = max(len(prompt.tokens) for prompt in prompts)
    ids, mask = np.zeros((2, len(prompts), width), np.int64)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt.tokens) :] = prompt.tokens
        mask[row, width - len(prompt.tokens) :] = 1
    device = model.get_input_embeddings().weight.device
    # Every setting is ours: the checkpoint's own generation settings would be merged in, so they are put aside.
    saved, model.generation_config = model.generation_config, GenerationConfig()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = model.generate(
                input_ids=torch.as_tensor(ids, device=device),
                attention_mask=torch.as_tensor(mask, device=device),
                generation_config=GenerationConfig(
                    do_sample=False,
                    max_new_tokens=prompts[0].max_tokens,
                    eos_token_id=list(eos_token_ids) or None,
                    pad_token_id=next(iter(eos_token_ids), 0),
                ),
                logits_processor=LogitsProcessorList([_Draw(prompts, width)]),
            )
    finally:
        model.generation_config = saved
    answers = []
    for row in output[:, width:].tolist():
        stop = next((at for at, token in enumerate(row) if token in eos_token_ids), None)
        answers.append((row[:stop], "length" if stop is None else "stop"))
    return answers
