"""Requests of kind ``generation``: free text."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.engine.generate import Prompt, generate
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.engine.sampling import Sampling
from biasatlas.errors import UserError
from biasatlas.models.batches import Keep
from biasatlas.models.local.inputs import counts, not_finite, samplings, why_unanswerable
from biasatlas.models.local.load import LoadedModel
from biasatlas.models.local.rotary import groups, switch_length
from biasatlas.validation import nearest

#: Requests whose answers are stored together, before their batch is there, and the seconds after which fewer are.
KEPT, KEPT_S = 64, 60

#: What decides a text: the prompt's tokens, settings, most tokens, repeat.
_Asked = tuple[bytes, Sampling, int, int]


def answer_generations(
    requests: pd.DataFrame,
    tokens: list[np.ndarray],
    model: LoadedModel,
    memory: Memory,
    thinking_end: str = "",
    keep: Keep = lambda responses: None,
) -> tuple[pd.DataFrame, dict]:
    """Generation responses in the order of ``requests``, whose prompts have ``tokens``, then by repeat, and what they took.

    What stands before ``thinking_end``, where an answer has it, is cut, and counted in ``detail``; an answer that ends
    within its thinking is truncated and has no text. ``keep`` gets the responses to requests all of whose repeats are
    there, whenever these are KEPT or KEPT_S have passed.
    """
    if requests["max_tokens"].isna().any():
        request_id = requests["request_id"][requests["max_tokens"].isna()].iloc[0]
        raise ValueError(f"request {request_id!r}: a generation needs max_tokens")
    detail = _why_unanswerable(model, tokens, requests["max_tokens"])
    repeats = requests["repeats"].fillna(1).astype(int)
    distinct: dict[_Asked, Prompt] = {}
    asked: list[list[_Asked]] = [[] for _ in tokens]  # by each request, for each of its repeats
    asking: dict[_Asked, set[int]] = {}
    for i, sampling in enumerate(samplings(requests)):
        for repeat in range(repeats[i]):
            # Greedy answers do not differ between repeats.
            prompt = Prompt(tokens[i], sampling, int(requests["max_tokens"][i]), repeat if sampling.temperature else 0)
            key = (prompt.tokens.tobytes(), sampling, prompt.max_tokens, prompt.repeat)
            asked[i].append(key)
            if not detail[i]:
                distinct.setdefault(key, prompt)
                asking.setdefault(key, set()).add(i)
    found: dict[_Asked, dict] = {}
    unkept: list[int] = []
    kept_at = time.monotonic()

    def responses(chosen: Iterable[int]) -> pd.DataFrame:
        rows = [
            {"request_id": requests["request_id"][i], "repeat": repeat}
            | ({"status": "failed", "detail": detail[i]} if detail[i] else found[key])
            for i in chosen
            for repeat, key in enumerate(asked[i])
        ]
        return pd.DataFrame(rows, columns=list(RESPONSE_COLUMNS["generation"]))

    def add(key: _Asked, answer: list[int], finish_reason: str) -> None:
        nonlocal kept_at
        found[key] = _response(answer, finish_reason, len(distinct[key].tokens), thinking_end, model)
        unkept.extend(i for i in asking[key] if all(one in found for one in asked[i]))
        if len(unkept) >= KEPT or (unkept and time.monotonic() - kept_at >= KEPT_S):
            keep(responses(unkept))
            unkept.clear()
            kept_at = time.monotonic()

    run: Counter[str] = Counter()
    known = list(distinct)
    for group, route in groups(model, np.asarray([len(prompt.tokens) for prompt in distinct.values()], np.int64)):
        chosen = [known[i] for i in group]
        prompts = [distinct[key] for key in chosen]

        def done(at: int, answer: list[int], finish_reason: str, chosen: list[_Asked] = chosen) -> None:
            add(chosen[at], answer, finish_reason)

        try:
            _, took = generate(model.model, prompts, model.eos_token_ids, memory, route, done)
        except NotFiniteError as error:
            row = next(i for i in range(len(asked)) if chosen[error.sequence] in asked[i])
            raise not_finite(model, requests["request_id"][row], error.value) from error
        run.update(counts(took))
    return responses(range(len(asked))), dict(run)


def check_thinking(tokenizer: PreTrainedTokenizerBase, thinking_end: str, name: str) -> None:
    """Raise UserError for a ``thinking_end`` that the tokenizer has no token for: it would never be found."""
    added = tokenizer.added_tokens_decoder
    if not thinking_end or any(token in added for token in _ids(tokenizer, thinking_end)):
        return
    close = nearest(thinking_end, sorted(token.content for token in added.values()))
    raise UserError(f"{name}: thinking_end: {thinking_end!r} is no token of the tokenizer{close}")


def _why_unanswerable(model: LoadedModel, tokens: list[np.ndarray], max_tokens: pd.Series) -> np.ndarray:
    """As for any prompt; nor may an answer pass the length at which the text before it would be scaled anew."""
    detail = why_unanswerable(model, tokens, max_tokens)
    switch = switch_length(model)
    if switch is None:
        return detail
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    passing = (length <= switch) & (length + max_tokens.to_numpy(dtype=np.int64) - 1 > switch)
    words = f"its answer could pass the {switch} tokens beyond which rotary embeddings are scaled otherwise (longrope)"
    return np.where((detail == "") & passing, words, detail)


def _response(answer: list[int], finish_reason: str, prompt_tokens: int, thinking_end: str, model: LoadedModel) -> dict:
    thought = _end_of(answer, _ids(model.tokenizer, thinking_end)) if thinking_end else 0
    if thought is None:  # it did not think, or did nothing else
        thought = len(answer) if finish_reason == "length" else 0
    text = model.tokenizer.decode(answer[thought:], skip_special_tokens=True)
    return {
        "status": "ok" if finish_reason == "stop" else "truncated",
        "detail": f"{thought} tokens of thinking cut" if thought else "",
        "text": text.lstrip() if thought else text,
        "finish_reason": finish_reason,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": len(answer),
    }


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def _end_of(answer: Sequence[int], part: Sequence[int]) -> int | None:
    """Where the first ``part`` of ``answer`` ends; None where it has none."""
    last = len(answer) - len(part)
    return next((at + len(part) for at in range(last + 1) if list(answer[at : at + len(part)]) == list(part)), None)
