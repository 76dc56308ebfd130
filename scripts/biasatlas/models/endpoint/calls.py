"""The calls that an OpenAI-compatible endpoint gets for a request, and what they may cost."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from biasatlas.errors import UserError
from biasatlas.models.endpoint import ASKED, Found, services
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.interface import ModelContext, Preview
from biasatlas.models.sampling import Settings, fill_sampling
from biasatlas.models.store import content, keys

#: Requests are sent at this share of the limit, so that they stay below it even if the network bunches them up.
HEADROOM = 0.95

#: What a call wants of the reply: the text, the first token's top log-probabilities, or those of the prompt's tokens.
Wants = Literal["text", "first_token", "prompt"]

#: Most requests, and most bytes, in one batch: services take 50,000 and 100 MB.
MAX_ROWS, MAX_BYTES = 50_000, 90_000_000

PATHS: dict[Wants, str] = {"text": "/chat/completions", "first_token": "/chat/completions", "prompt": "/completions"}


class Unsupported(ValueError):
    """Why an endpoint cannot answer a request."""


@dataclass(frozen=True)
class Call:
    """One ``body`` for an endpoint, for an answer under each of the store's ``keys``, which are those of repeats.

    Every call with this body has the same ``name``, the key of its first repeat. Token counts, of the prompt and of
    each answer, are upper estimates.
    """

    name: str
    keys: list[str]
    wants: Wants
    body: dict
    prompt_tokens: int
    completion_tokens: int

    @property
    def is_sampled(self) -> bool:
        """Whether equal calls may be answered differently."""
        return self.wants == "text" and self.body.get("temperature", 1) > 0 and self.body.get("do_sample", True)

    def worst_cost(self, entry: ApiEntry, answers: int = 1) -> float:
        """The most that a reply with this number of ``answers`` may cost, by the estimates."""
        return cost(entry, self.prompt_tokens, answers * self.completion_tokens)


def call_of(row: Mapping, entry: ApiEntry) -> Call:
    """The call that asks for answers to one request, one for each of its repeats.

    Raises :class:`Unsupported` for a request that this endpoint cannot answer.
    """
    asked = content(row)
    if asked["kind"] == "likelihood":
        return _likelihood_call(asked, entry)
    if asked["prefix"] or not asked["messages"]:
        raise Unsupported("a chat endpoint takes messages only, no raw prefix")
    body = _chat_body(asked, entry)
    exact = asked["kind"] == "choice" and is_exact(entry)
    if exact:
        _check_exact(asked)
        body |= {"logprobs": True, "top_logprobs": entry.top_logprobs, services().dialects[entry.dialect].length: 1}
    repeats = 1 if exact or pd.isna(row["repeats"]) else int(row["repeats"])
    prompt = "".join(message["content"] for message in body["messages"])
    wants: Wants = "first_token" if exact else "text"
    return _call(entry, wants, body, repeats, prompt)


def is_exact(entry: ApiEntry) -> bool:
    """Whether a choice is read from the first token's log-probabilities: if it has any and is no thinking."""
    return entry.top_logprobs > 0 and not entry.thinking


def planned_call(row: Mapping, entry: ApiEntry) -> Call | Unsupported:
    """:func:`call_of`, with the error returned rather than raised."""
    try:
        return call_of(row, entry)
    except Unsupported as reason:
        return reason


def sampling(entry: ApiEntry) -> Settings:
    """The sampling settings of an entry, by their name."""
    return {name: settings.model_dump() for name, settings in entry.sampling.items()}


def _call(entry: ApiEntry, wants: Wants, body: dict, repeats: int, prompt: str) -> Call:
    identity = {"kind": "api", "base_url": entry.base_url, "path": PATHS[wants], "version": ASKED}
    identity |= {"thinking": True} if entry.thinking else {}
    names = keys(identity, body, range(repeats))
    length = body["max_completion_tokens"] if "max_completion_tokens" in body else body["max_tokens"]
    return Call(names[0], names, wants, body, estimate_tokens(prompt), length)


def estimate_tokens(text: str) -> int:
    """About how many tokens ``text`` has: one per character outside ASCII, one per three inside, 16 for a template."""
    wide = sum(character > "\x7f" for character in text)
    return 16 + wide + math.ceil((len(text) - wide) / 3)


def _chat_body(asked: dict, entry: ApiEntry) -> dict:
    missing = [name for name in ("temperature", "top_p", "max_tokens") if asked[name] is None]
    if missing:
        raise ValueError(f"a request for text says nothing about {', '.join(missing)}: {asked['messages']}")
    dialect, asked = services().dialects[entry.dialect], asked | dict.fromkeys(entry.without)
    settings = {
        "temperature": asked["temperature"],
        "top_p": asked["top_p"],
        "frequency_penalty": asked["frequency_penalty"] or 0.0,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    top_k, penalty = max(asked["top_k"] or 0, 0), asked["repetition_penalty"] or 1.0
    if (top_k and not dialect.top_k) or (penalty != 1.0 and not dialect.repetition_penalty):
        raise Unsupported(f"the endpoint's dialect ({entry.dialect}) has no top-k and no repetition penalty")
    if settings.get("temperature", 0) > dialect.most_temperature:
        raise Unsupported(
            f"the endpoint's dialect ({entry.dialect}) has no temperature above {dialect.most_temperature:g}"
        )
    for name, usual in dialect.lacks.items():
        if settings.pop(name, usual) != usual:
            raise Unsupported(f"the endpoint's dialect ({entry.dialect}) has no {name} but {usual:g}")
    if settings.get("temperature") == 0 and dialect.greedy:
        del settings["temperature"]
        settings |= dialect.greedy
    messages = json.loads(asked["messages"])
    body = {"model": entry.model, "messages": _system_first(messages) if entry.system == "user" else messages}
    body |= settings | {dialect.length: asked["max_tokens"] + _thinking_tokens(entry)} | dialect.off
    if dialect.top_k and dialect.repetition_penalty:
        body |= {dialect.top_k: top_k or dialect.no_top_k, dialect.repetition_penalty: penalty}
    return body | entry.extra_body | _thinking(entry)


def _thinking_tokens(entry: ApiEntry) -> int:
    return entry.thinking.budget if entry.thinking else 0


def _thinking(entry: ApiEntry) -> dict[str, Any]:
    """The fields of a body that ask for thinking."""
    if entry.thinking is None or entry.thinking.how == "tags":
        return {}
    text = json.dumps(services().dialects[entry.dialect].thinking)
    return json.loads(text.replace('"{budget}"', str(entry.thinking.budget)))


def _system_first(messages: list[dict]) -> list[dict]:
    """``messages`` with all system messages put in front of the first other one, in the same message."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    rest = [dict(message) for message in messages if message["role"] != "system"]
    rest[0]["content"] = "\n\n".join([*system, rest[0]["content"]])
    return rest


def _check_exact(asked: dict) -> None:
    """Raise Unsupported if top log-probabilities, which are those at temperature 1, do not give P(label)."""
    if asked["temperature"] > 1 or asked["top_p"] < 1 or (asked["top_k"] or 0) > 0:
        raise Unsupported(
            "top log-probabilities give no exact choice above temperature 1 or with top-p or top-k; sample instead"
        )
    if (asked["repetition_penalty"] or 1.0) != 1.0:
        raise Unsupported("top log-probabilities give no exact choice with a repetition penalty; sample instead")


def _likelihood_call(asked: dict, entry: ApiEntry) -> Call:
    if not entry.prompt_logprobs:
        raise Unsupported("the endpoint returns no log-probabilities of a prompt")
    if asked["messages"]:
        raise Unsupported("the endpoint scores raw text only, no messages")
    if asked["boundary"] != "offsets" or asked["special_tokens"] == "none":
        raise Unsupported(
            "the endpoint tokenises as it does: boundary by offsets and special tokens of the tokenizer only"
        )
    text = (asked["prefix"] or "") + asked["continuation"]
    return _call(entry, "prompt", echo_body(text, entry), 1, text)


def echo_body(text: str, entry: ApiEntry) -> dict:
    """The body that asks for ``text``'s own log-probabilities, and for one new token: servers differ on none."""
    body = {"model": entry.model, "prompt": text, "max_tokens": 1, "temperature": 1.0, "echo": True, "logprobs": 1}
    return body | entry.extra_body


def split_into_batches(calls: list[Call], entry: ApiEntry) -> Iterator[list[Call]]:
    """Yield ``calls`` in parts, each of which fits into one batch."""
    chunk: list[Call] = []
    size = 0
    for call in calls:
        length = len(batch_row(call, entry))
        if chunk and (len(chunk) == MAX_ROWS or size + length > MAX_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(call)
        size += length
    if chunk:
        yield chunk


def batch_row(call: Call, entry: ApiEntry) -> bytes:
    """A call as a line of a batch's input."""
    row = {"custom_id": call.keys[0], "method": "POST", "url": batch_path(call, entry), "body": call.body}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def batch_path(call: Call, entry: ApiEntry) -> str:
    """A call's path as batches name it, with the version that ends the base URL: /v1/chat/completions."""
    return f"/{entry.base_url.rpartition('/')[2]}{PATHS[call.wants]}"


def preview(opening: ModelContext, requests: pd.DataFrame) -> list[Preview]:
    """A preview of each of ``requests``. Raises UserError for sampling settings that the entry lacks."""
    entry = cast(ApiEntry, opening.entry)
    rows = fill_sampling(requests, sampling(entry), opening.name).to_dict("records")
    planned = (planned_call(row, entry) for row in rows)
    hint = "; with `top_logprobs`, where the service gives them, one call each gives their probabilities"
    hint = f", each with up to {_thinking_tokens(entry)} tokens of thinking" if entry.thinking else hint
    repeats = requests["repeats"].where(requests["kind"].eq("choice") & (not is_exact(entry))).fillna(0)
    return [
        Preview(str(call))
        if isinstance(call, Unsupported)
        else Preview(remark=f"choices are sampled, {times:.0f} a request{hint}" * (times > 0))
        for times, call in zip(repeats, planned, strict=True)
    ]


def bound(entry: ApiEntry, sizes: pd.DataFrame, found: Found | None = None) -> dict[str, Any]:
    """Calls, tokens, their highest cost and its currency; minutes by the entry's rates, NaN if it has none.

    ``sizes`` counts requests by their settings (:func:`biasatlas.workflow.check.sizes`). One call has as many repeats
    as the check ``found`` that the endpoint gives. No call is assumed to be in the store, or to be sent twice.
    """
    answers = min(found.n, entry.n or found.n) if found else 1
    single = (sizes["kind"] == "likelihood") | ((sizes["kind"] == "choice") & is_exact(entry))
    repeats = sizes["repeats"].fillna(1).where(~single, 1)
    completion = (sizes["max_tokens"].fillna(1) + _thinking_tokens(entry)).where(~single, 1)
    calls = np.ceil(repeats / answers)
    sent = float((sizes["requests"] * calls).sum())
    prompt_tokens = float((sizes["prompt_tokens"] * calls).sum())
    completion_tokens = float((sizes["requests"] * repeats * completion).sum())
    per_minute = ((sent, entry.requests_per_minute), (prompt_tokens + completion_tokens, entry.tokens_per_minute))
    minutes = max((count / (rate * HEADROOM) for count, rate in per_minute if rate), default=np.nan)
    return {
        "calls": sent,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "cost": cost(entry, prompt_tokens, completion_tokens),
        "currency": entry.currency,
        "minutes": minutes,
    }


def prices(entry: ApiEntry) -> tuple[float, float]:
    """The prices of a million tokens of prompt and of completion, in the entry's currency; 0 if it names none.

    Raises UserError for `prices: known` if the package is not installed, or knows no price of the model.
    """
    if entry.prices == "known":
        return _known(entry.model, entry.base_url)
    return entry.price_input_per_million, entry.price_output_per_million


@cache
def _known(model: str, base_url: str) -> tuple[float, float]:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        raise UserError(
            f"prices: known: the package that knows the price of {model} is not installed. Run `pip install "
            "genai-prices`, or give `price_input_per_million` and `price_output_per_million`."
        ) from None
    try:
        found = calc_price(Usage(input_tokens=1000, output_tokens=1000), model, provider_api_url=base_url)
    except LookupError:
        raise UserError(
            f"prices: known: genai-prices knows no price of {model} at {base_url}. Give `price_input_per_million` and "
            "`price_output_per_million` (in `currency`)."
        ) from None
    return 1000 * float(found.input_price), 1000 * float(found.output_price)


def charged(entry: ApiEntry, records: Iterable[Mapping], reserved: float) -> float:
    """What the answers of a reply cost: all that was set aside (``reserved``) if the endpoint counts no tokens."""
    tokens = [(record["prompt_tokens"], record["completion_tokens"]) for record in records]
    return reserved if any(None in pair for pair in tokens) else sum(cost(entry, *pair) for pair in tokens)


def cost(entry: ApiEntry, prompt_tokens: float, completion_tokens: float) -> float:
    """The price of these numbers of tokens, in the entry's currency."""
    for_input, for_output = prices(entry)
    return (prompt_tokens * for_input + completion_tokens * for_output) / 1_000_000
