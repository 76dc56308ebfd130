"""Requests of kind ``generation``: free text."""

import pandas as pd

from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.engine.generate import Prompt, generate
from biasatlas.engine.memory import Memory, NotFiniteError
from biasatlas.models.local.inputs import encode_prompts, not_finite, samplings, why_unanswerable
from biasatlas.models.local.load import LoadedModel


def answer_generations(
    requests: pd.DataFrame, prompts: list[str], model: LoadedModel, token_budget: int
) -> tuple[pd.DataFrame, dict]:
    """Generation responses in the order of ``requests`` and then by repeat, and what computing them took."""
    if requests["max_tokens"].isna().any():
        request_id = requests["request_id"][requests["max_tokens"].isna()].iloc[0]
        raise ValueError(f"request {request_id!r}: a generation needs max_tokens")
    tokens = encode_prompts(requests, prompts, model)
    detail = why_unanswerable(model, tokens, requests["max_tokens"])
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
    try:
        answers = generate(model.model, list(distinct.values()), model.eos_token_ids, Memory(token_budget))
    except NotFiniteError as error:
        key = list(distinct)[error.sequence]
        row = next(i for i, _, other in rows if other == key)
        raise not_finite(model, requests["request_id"][row], error.value) from error
    made = [answer for answer, _ in answers]
    texts = model.tokenizer.batch_decode(made, skip_special_tokens=True) if made else []
    by_key = {key: (*answer, text) for key, answer, text in zip(distinct, answers, texts, strict=True)}
    responses = [
        {"request_id": requests["request_id"][i], "repeat": repeat}
        | ({"status": "failed", "detail": detail[i]} if detail[i] else _response(len(tokens[i]), *by_key[key]))
        for i, repeat, key in rows
    ]
    fed = sum(len(prompt.tokens) for prompt in distinct.values())
    run = {"path": "generate", "reason": "", "tokens_fed": fed, "tokens_made": sum(map(len, made))}
    return pd.DataFrame(responses, columns=list(RESPONSE_COLUMNS["generation"])), run


def _response(prompt_tokens: int, answer: list[int], finish_reason: str, text: str) -> dict:
    return {
        "status": "ok" if finish_reason == "stop" else "truncated",
        "detail": "",
        "text": text,
        "finish_reason": finish_reason,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": len(answer),
    }
