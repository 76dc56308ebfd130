"""Requests of kind ``generation``: free text."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.engine.generate import Prompt, generate
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.errors import UserError
from biasatlas.models.local.inputs import counts, not_finite, samplings, why_unanswerable
from biasatlas.models.local.load import LoadedModel
from biasatlas.models.local.rotary import groups, switch_length
from biasatlas.validation import nearest


def answer_generations(
    requests: pd.DataFrame, tokens: list[np.ndarray], model: LoadedModel, memory: Memory, thinking_end: str = ""
) -> tuple[pd.DataFrame, dict]:
    """Generation responses in the order of ``requests``, whose prompts have ``tokens``, then by repeat, and what they took.

    What stands before ``thinking_end``, where an answer has it, is cut, and counted in ``detail``; an answer that ends
    within its thinking is truncated and has no text.
    """
    if requests["max_tokens"].isna().any():
        request_id = requests["request_id"][requests["max_tokens"].isna()].iloc[0]
        raise ValueError(f"request {request_id!r}: a generation needs max_tokens")
    detail = _why_unanswerable(model, tokens, requests["max_tokens"])
    repeats = requests["repeats"].fillna(1).astype(int)
    distinct: dict[tuple, Prompt] = {}
    rows = []
    for i, sampling in enumerate(samplings(requests)):
        for repeat in range(repeats[i]):
            # Greedy answers do not differ between repeats.
            prompt = Prompt(tokens[i], sampling, int(requests["max_tokens"][i]), repeat if sampling.temperature else 0)
            key = (prompt.tokens.tobytes(), sampling, prompt.max_tokens, prompt.repeat)
            rows.append((i, repeat, key))
            if not detail[i]:
                distinct.setdefault(key, prompt)
    answers: dict[tuple, tuple[list[int], str]] = {}
    run: Counter[str] = Counter()
    known = list(distinct)
    for group, route in groups(model, np.asarray([len(prompt.tokens) for prompt in distinct.values()], np.int64)):
        chosen = [known[i] for i in group]
        try:
            made, took = generate(model.model, [distinct[key] for key in chosen], model.eos_token_ids, memory, route)
        except NotFiniteError as error:
            row = next(i for i, _, key in rows if key == chosen[error.sequence])
            raise not_finite(model, requests["request_id"][row], error.value) from error
        answers |= zip(chosen, made, strict=True)
        run.update(counts(took))
    by_key = {
        key: _response(*answer, len(distinct[key].tokens), thinking_end, model) for key, answer in answers.items()
    }
    responses = [
        {"request_id": requests["request_id"][i], "repeat": repeat}
        | ({"status": "failed", "detail": detail[i]} if detail[i] else by_key[key])
        for i, repeat, key in rows
    ]
    return pd.DataFrame(responses, columns=list(RESPONSE_COLUMNS["generation"])), dict(run)


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
