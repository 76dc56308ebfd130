"""Requests of kind ``generation``: free text."""

import json
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerBase

from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.normalise import split_thinking
from biasatlas.benchmarks.shared.parsing.options import asked_options
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.engine.generate import Prompt, generate
from biasatlas.engine.memory import Memory
from biasatlas.engine.routes import Route
from biasatlas.engine.sampling import Sampling
from biasatlas.models.batches import Keep
from biasatlas.models.entry import Thinking
from biasatlas.models.local.inputs import by_route, samplings, switch_length, why_unanswerable
from biasatlas.models.local.load import LoadedModel
from biasatlas.models.local.serve import Server
from biasatlas.models.sampling import sampled_choice

#: How many requests' answers are stored together before their batch is finished; after KEPT_S seconds, fewer are.
KEPT, KEPT_S = 64, 60

#: What decides a text: the prompt's tokens, settings, most tokens, repeat.
_Asked = tuple[bytes, Sampling, int, int]


def answer_generations(
    requests: pd.DataFrame,
    tokens: list[np.ndarray],
    model: LoadedModel,
    memory: Memory,
    thinking: Thinking | None = None,
    keep: Keep = lambda responses: None,
    server: Server | None = None,
) -> tuple[pd.DataFrame, dict]:
    """Generation responses to ``requests``, whose prompts have ``tokens``, by repeat, and what they took.

    ``thinking`` says how long a model thinks, if it does. Its thinking is cut from its answers, counted in ``detail``
    and kept in a column of its own. An answer that ends within its thinking has the status "thought" and no text.
    ``keep`` gets the responses to requests whose repeats are all finished, whenever there are KEPT of them or KEPT_S
    seconds have passed. A ``server``, if given, writes in place of the engine.
    """
    if requests["max_tokens"].isna().any():
        request_id = requests["request_id"][requests["max_tokens"].isna()].iloc[0]
        raise ValueError(f"request {request_id!r}: a generation needs max_tokens")
    longest = requests["max_tokens"] + (thinking.budget if thinking else 0)
    detail = _why_unanswerable(model, tokens, longest)
    repeats = requests["repeats"].fillna(1).astype(int)
    distinct: dict[_Asked, Prompt] = {}
    asked: list[list[_Asked]] = [[] for _ in tokens]  # of each request, one for each repeat
    asking: dict[_Asked, set[int]] = {}
    for i, sampling in enumerate(samplings(requests)):
        for repeat in range(repeats[i]):
            # Greedy answers do not differ between repeats.
            prompt = Prompt(tokens[i], sampling, int(longest[i]), repeat if sampling.temperature else 0)
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
        columns = [*RESPONSE_COLUMNS["generation"], *(["thinking"] if thinking else [])]
        return pd.DataFrame(rows, columns=columns)

    def add(key: _Asked, answer: str | list[int], finish_reason: str, count: int) -> None:
        nonlocal kept_at
        response = _response(answer, finish_reason, thinking is not None, model)
        found[key] = response | {"prompt_tokens": len(distinct[key].tokens), "completion_tokens": count}
        unkept.extend(i for i in asking[key] if all(one in found for one in asked[i]))
        if len(unkept) >= KEPT or (unkept and time.monotonic() - kept_at >= KEPT_S):
            keep(responses(unkept))
            unkept.clear()
            kept_at = time.monotonic()

    known, prompts = list(distinct), list(distinct.values())
    if server:
        run = server.generate(prompts, model.eos_token_ids, lambda at, *answer: add(known[at], *answer))
        return responses(range(len(asked))), run

    def write(group: np.ndarray, route: Route) -> dict[str, int]:
        def done(at: int, answer: list[int], finish_reason: str) -> None:
            add(known[group[at]], answer, finish_reason, len(answer))

        return generate(model.model, [prompts[i] for i in group], model.eos_token_ids, memory, route, done)[1]

    length = np.asarray([len(prompt.tokens) for prompt in prompts], np.int64)
    run = by_route(model, length, lambda i: requests["request_id"][min(asking[known[i]])], write)
    return responses(range(len(asked))), run


def answer_thought_choices(
    requests: pd.DataFrame,
    tokens: list[np.ndarray],
    model: LoadedModel,
    memory: Memory,
    parsers: Mapping[str, Parser],
    thinking: Thinking,
    keep: Keep = lambda responses: None,
) -> tuple[pd.DataFrame, dict]:
    """Choice responses of a model that thinks first: the shares of its sampled answers, one for each repeat.

    ``keep`` is that of :func:`answer_generations`.
    """
    shown = requests["options"] if "options" in requests else [None] * len(requests)
    asked = dict(
        zip(requests["request_id"], zip(requests["labels"], shown, requests["parser"], strict=True), strict=True)
    )

    def choices(generated: pd.DataFrame) -> pd.DataFrame:
        rows = []
        for request_id, part in generated.groupby("request_id", sort=False):
            replies, (labels, texts, parser) = part.to_dict("records"), asked[request_id]
            options = asked_options(labels, texts if isinstance(texts, str) else None)
            thoughts = json.dumps([reply.get("thinking") for reply in replies], ensure_ascii=False)
            choice = sampled_choice(replies, options, parsers[parser])
            rows.append({"request_id": request_id, "repeat": 0, "thinking": thoughts} | choice)
        return pd.DataFrame(rows).reindex(columns=[*RESPONSE_COLUMNS["choice"], "thinking"])

    generated, run = answer_generations(
        requests, tokens, model, memory, thinking, lambda generated: keep(choices(generated))
    )
    return choices(generated), run


def _why_unanswerable(model: LoadedModel, tokens: list[np.ndarray], max_tokens: pd.Series) -> np.ndarray:
    """As for any prompt; besides, an answer may not pass the length beyond which the whole text is scaled otherwise."""
    detail = why_unanswerable(model, tokens, max_tokens)
    switch = switch_length(model.text_config)
    if switch is None:
        return detail
    length = np.fromiter(map(len, tokens), np.int64, len(tokens))
    passing = (length <= switch) & (length + max_tokens.to_numpy(dtype=np.int64) - 1 > switch)
    words = f"its answer could pass the {switch} tokens beyond which rotary embeddings are scaled otherwise (longrope)"
    return np.where((detail == "") & passing, words, detail)


def _response(answer: str | list[int], finish_reason: str, thinks: bool, model: LoadedModel) -> dict:
    """The columns of a response to an ``answer`` (tokens, or a server's text), except the counts of tokens."""
    tokens = model.tokenizer.encode(answer, add_special_tokens=False) if isinstance(answer, str) and thinks else answer
    whole = answer if isinstance(answer, str) else model.tokenizer.decode(answer, skip_special_tokens=not thinks)
    thinking, text = split_thinking(whole) if thinks else ("", whole)
    if thinks and not thinking and text == whole and finish_reason == "length":  # it only thought
        thinking, text = whole, ""
    cut = _tokens_of(len(whole) - len(text), cast(list[int], tokens), model.tokenizer) if thinking else 0
    for special in model.tokenizer.all_special_tokens if thinks else ():
        thinking, text = thinking.replace(special, ""), text.replace(special, "")
    status = "ok" if finish_reason == "stop" else "truncated"
    return {
        "status": "thought" if thinking and not text.strip() else status,
        "detail": f"{cut} tokens of thinking cut" if cut else "",
        "text": text.lstrip() if thinking else text,
        "finish_reason": finish_reason,
    } | ({"thinking": thinking} if thinks else {})


def _tokens_of(characters: int, answer: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> int:
    """How many tokens of ``answer`` its first ``characters`` take."""
    return bisect_left(range(len(answer)), characters, key=lambda count: len(tokenizer.decode(answer[:count])))
