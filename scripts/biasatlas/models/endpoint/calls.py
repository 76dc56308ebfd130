"""A request as the calls that an OpenAI-compatible endpoint is sent for it, with what they may cost."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from biasatlas.models.endpoint import VERSION
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import content, key

#: What a call wants of the reply: the text, the first token's top log-probabilities, or those of the prompt's tokens.
Wants = Literal["text", "first_token", "prompt"]

PATHS: dict[Wants, str] = {"text": "/chat/completions", "first_token": "/chat/completions", "prompt": "/completions"}

# How a dialect spells the most tokens to write, and (name, value when off) of top-k and the repetition penalty.
LENGTH = {"openai": "max_completion_tokens"}
_TOP_K = {"vllm": ("top_k", -1), "llama.cpp": ("top_k", 0)}
_REPETITION = {"vllm": "repetition_penalty", "llama.cpp": "repeat_penalty"}


@dataclass(frozen=True)
class Call:
    """One call to an endpoint, under its ``key`` in the store; token counts are estimates from above."""

    key: str
    wants: Wants
    body: dict
    prompt_tokens: int
    completion_tokens: int


def calls(row: Mapping, entry: ApiEntry) -> list[Call] | str:
    """The calls that answer one request (in the order of repeats), or why this endpoint cannot answer it."""
    asked = content(row)
    if asked["kind"] == "likelihood":
        return _likelihood_calls(asked, entry)
    if asked["prefix"] or not asked["messages"]:
        return "a chat endpoint takes messages only, no raw prefix"
    body = _chat_body(asked, entry)
    if isinstance(body, str):
        return body
    exact = asked["kind"] == "choice" and entry.top_logprobs > 0
    if exact and (reason := _not_exact(asked)):
        return reason
    if exact:
        body |= {"logprobs": True, "top_logprobs": entry.top_logprobs, LENGTH.get(entry.dialect, "max_tokens"): 1}
    repeats = 1 if exact or pd.isna(row["repeats"]) else int(row["repeats"])
    prompt = "".join(message["content"] for message in body["messages"])
    wants: Wants = "first_token" if exact else "text"
    return [_call(entry, wants, body, repeat, prompt) for repeat in range(repeats)]


def _call(entry: ApiEntry, wants: Wants, body: dict, repeat: int, prompt: str) -> Call:
    identity = {"kind": "api", "base_url": entry.base_url, "path": PATHS[wants], "version": VERSION}
    length = body["max_completion_tokens"] if "max_completion_tokens" in body else body["max_tokens"]
    return Call(key(identity, body, repeat), wants, body, estimate_tokens(prompt), length)


def estimate_tokens(text: str) -> int:
    """Tokens in ``text``, about: one for a character outside ASCII, one for three within, and some for a template."""
    wide = sum(character > "\x7f" for character in text)
    return 16 + wide + math.ceil((len(text) - wide) / 3)


def _chat_body(asked: dict, entry: ApiEntry) -> dict | str:
    missing = [name for name in ("temperature", "top_p", "max_tokens") if asked[name] is None]
    if missing:
        raise ValueError(f"a request for text says nothing about {', '.join(missing)}: {asked['messages']}")
    messages = json.loads(asked["messages"])
    body = {
        "model": entry.model,
        "messages": _system_first(messages) if entry.system == "user" else messages,
        "temperature": asked["temperature"],
        "top_p": asked["top_p"],
        "frequency_penalty": asked["frequency_penalty"] or 0.0,
        LENGTH.get(entry.dialect, "max_tokens"): asked["max_tokens"],
    }
    top_k, penalty = max(asked["top_k"] or 0, 0), asked["repetition_penalty"] or 1.0
    if entry.dialect in _TOP_K:
        name, off = _TOP_K[entry.dialect]
        body |= {name: top_k or off, _REPETITION[entry.dialect]: penalty}
    elif top_k or penalty != 1.0:
        return f"the endpoint's dialect ({entry.dialect}) has no top-k and no repetition penalty"
    return body | entry.extra_body


def _system_first(messages: list[dict]) -> list[dict]:
    """``messages`` with what the system says put in front of what the user says first."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [dict(message) for message in messages if message["role"] != "system"]
    rest[0]["content"] = "\n\n".join([*system, rest[0]["content"]])
    return rest


def _not_exact(asked: dict) -> str:
    """Why P(label) cannot be had from top log-probabilities, which endpoints give for the untempered distribution."""
    if asked["temperature"] > 1 or asked["top_p"] < 1 or (asked["top_k"] or 0) > 0:
        return "top log-probabilities give no exact choice above temperature 1 or with top-p or top-k; sample instead"
    if (asked["repetition_penalty"] or 1.0) != 1.0:
        return "top log-probabilities give no exact choice with a repetition penalty; sample instead"
    return ""


def _likelihood_calls(asked: dict, entry: ApiEntry) -> list[Call] | str:
    if not entry.prompt_logprobs:
        return "the endpoint returns no log-probabilities of a prompt"
    if asked["messages"]:
        return "the endpoint scores raw text only, no messages"
    if asked["boundary"] != "offsets" or asked["special_tokens"] == "none":
        return "the endpoint tokenises as it does: boundary by offsets and special tokens of the tokenizer only"
    text = (asked["prefix"] or "") + asked["continuation"]
    return [_call(entry, "prompt", echo_body(text, entry), 0, text)]


def echo_body(text: str, entry: ApiEntry) -> dict:
    """The call that returns ``text``'s own log-probabilities. One token is written, since servers differ on none."""
    body = {"model": entry.model, "prompt": text, "max_tokens": 1, "temperature": 1.0, "echo": True, "logprobs": 1}
    return body | entry.extra_body


def cost(entry: ApiEntry, prompt_tokens: float, completion_tokens: float) -> float:
    """The price of so many tokens, in the entry's currency."""
    price = prompt_tokens * entry.price_input_per_million + completion_tokens * entry.price_output_per_million
    return price / 1_000_000


def worst_cost(entry: ApiEntry, call: Call) -> float:
    """What a call may cost at most, by the estimates."""
    return cost(entry, call.prompt_tokens, call.completion_tokens)
