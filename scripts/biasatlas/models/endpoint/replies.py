"""What an endpoint said: a reply as the record that the store keeps, and records as the responses to a request."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from pydantic import ValidationError

from biasatlas.benchmarks.shared.readers import Reader
from biasatlas.benchmarks.shared.readers.named import whole_reading
from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.models import UNRESOLVED_BOUND
from biasatlas.models.endpoint import VERSION
from biasatlas.models.endpoint.calls import Wants
from biasatlas.models.endpoint.schema import ChatChoice, ChatLogprobs, ChatReply, EchoChoice, EchoReply, Record

# What services answer instead of text when their filter stops them: finish reasons, and codes or words of an error.
_FILTERED = {"content_filter", "sensitive"}
_FILTER_ERRORS = re.compile(
    r"content_filter|content_policy|data_inspection_failed|Content Exists Risk|^(\d{3} )?1301\b|\"code\": \"1301\""
)
_BROKEN = {"network_error", "insufficient_system_resource", "error"}
_TOOLS = {"tool_calls", "function_call"}

#: Why a reply of status 200 has nothing to read.
NO_TEXT = {"tool": "the endpoint called a tool and said nothing", "empty": "the endpoint said nothing"}

_OUTCOMES = {"refused": "refused", "failed": "unresolved", "unparseable": "unparseable"}

#: A label's index, "refused", "ambiguous", "unparseable" or "unresolved".
Outcome = int | str | None

Reply = TypeVar("Reply", ChatReply, EchoReply)

#: Probability by outcome; 0 where there is none.
Masses = defaultdict[Outcome, float]


class BadReply(ValueError):
    """A reply with status 200 that is no answer; it may be asked again."""


def read_reply(content: bytes, wants: Wants) -> list[dict | None]:
    """The records of a reply's choices: what the store keeps, None for a choice that is no answer.

    The tokens that the endpoint counts for all are shared out among those that are. Raises :class:`BadReply` for anything
    that holds no answer.
    """
    reply = _read(content, EchoReply) if wants == "prompt" else _read(content, ChatReply)
    records: list[dict | None] = []
    fault = "no answer: no choice"
    choices: Sequence[ChatChoice | EchoChoice | None] = reply.choices
    for choice in choices:
        try:
            records.append(_record(choice, wants))
        except BadReply as error:
            records.append(None)
            fault = str(error)
    answers = [record for record in records if record is not None]
    if not answers:
        raise BadReply(fault)
    tokens = (reply.usage.prompt_tokens, reply.usage.completion_tokens) if reply.usage else (None, None)
    for place, record in enumerate(answers):
        record |= {
            "prompt_tokens": _part(tokens[0], place, 1),
            "completion_tokens": _part(tokens[1], place, len(answers)),
            "served_model": reply.model,
            "response_id": reply.id,
            "fingerprint": reply.system_fingerprint,
            "choice": place,
        }
    return records


def _read(content: bytes, schema: type[Reply]) -> Reply:
    """A reply as what it should be; a byte order mark and halves of surrogate pairs are read over."""
    text = content.decode("utf-8-sig", "replace")
    try:
        try:
            return schema.model_validate_json(text)
        except ValidationError:
            if r"\ud" not in text.lower():
                raise
            return schema.model_validate(json.loads(text))
    except ValidationError as error:
        raise BadReply(f"no answer: {_first(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BadReply(f"no answer: {error}") from None


def _part(tokens: int | None, place: int, shares: int) -> int | None:
    """The tokens of a reply that its choice at ``place`` takes: an even share, the first ones one more."""
    return None if tokens is None else tokens // shares + (place < tokens % shares) if place < shares else 0


def _first(error: ValidationError) -> str:
    """The first thing that is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the reply'}: {first['msg']}"


def _record(choice: ChatChoice | EchoChoice | None, wants: Wants) -> dict:
    if choice is None:
        raise BadReply("no answer: a choice without a message that can be read")
    finish = choice.finish_reason or "stop"
    if finish in _BROKEN:
        raise BadReply(f"the endpoint broke off: finish reason {finish}")
    record: dict = {"version": VERSION, "finish_reason": finish}
    if isinstance(choice, EchoChoice):
        return record | {"status": "ok", "tokens": choice.logprobs.tokens, "logprobs": choice.logprobs.token_logprobs}
    message = choice.message
    record |= {"text": message.content or message.refusal or ""}
    if message.refusal or finish in _FILTERED:
        return record | {"status": "refused"}
    if wants == "first_token":
        try:
            (position, *_) = ChatLogprobs.model_validate(choice.logprobs).content
        except ValidationError as error:
            raise BadReply(f"no top log-probabilities, which were asked for: {_first(error)}") from None
        record |= {"top": [(top.token, top.logprob) for top in position.top_logprobs]}
    elif not record["text"]:
        tool = message.tool_calls or message.function_call or finish in _TOOLS
        return record | {"status": "unparseable", "detail": NO_TEXT["tool" if tool else "empty"]}
    return record | {"status": "truncated" if finish == "length" else "ok"}


def stored(value: dict) -> dict | None:
    """A record as the store has it, however old; None for what is none, and must be asked for again."""
    try:
        record = Record.model_validate(value).model_dump()
    except ValidationError:
        return None
    if record["status"] == "ok" and not record["text"] and record["tokens"] is None and record["top"] is None:
        return record | {"status": "unparseable", "detail": NO_TEXT["empty"]}
    return record


def filtered(status_code: int, error: str) -> dict | None:
    """The record of an ``error`` by which a service's content filter refuses, else None."""
    if status_code not in (400, 403, 422) or not _FILTER_ERRORS.search(error):
        return None
    return {
        "version": VERSION,
        "status": "refused",
        "text": "",
        "finish_reason": "content_filter",
        "prompt_tokens": 0,  # no model ran, and an error is not charged
        "completion_tokens": 0,
        "served_model": None,
        "choice": 0,
    }


def responses(row: Mapping, records: list[dict] | str, readers: Mapping[str, Reader]) -> list[dict]:
    """The responses to one request from the records of its calls, or from the reason why there are none."""
    if isinstance(records, str):
        return [_response(row, 0, "not_applicable", records)]
    if row["kind"] == "generation":
        return [_generation(row, repeat, record) for repeat, record in enumerate(records)]
    if row["kind"] == "likelihood":
        return [_likelihood(row, records[0])]
    return [_choice(row, records, readers[row["reader"]])]


def _response(row: Mapping, repeat: int, status: str, detail: str | None, **values: Any) -> dict:
    empty = dict.fromkeys(RESPONSE_COLUMNS[row["kind"]])
    return empty | {"request_id": row["request_id"], "repeat": repeat, "status": status, "detail": detail} | values


def _generation(row: Mapping, repeat: int, record: dict) -> dict:
    values = {name: record.get(name) for name in ("text", "finish_reason", "prompt_tokens", "completion_tokens")}
    return _response(row, repeat, record["status"], record.get("detail"), **values)


def _choice(row: Mapping, records: list[dict], reader: Reader) -> dict:
    labels = json.loads(row["labels"])
    failed = [record["detail"] for record in records if record["status"] == "failed"]
    if len(failed) == len(records):
        return _response(row, 0, "failed", failed[0])
    top = records[0].get("top")
    masses = _exact(top, row["temperature"], labels, reader) if top else _sampled(records, labels, reader)
    rest = {name: masses[name] for name in ("refused", "ambiguous", "unparseable", "unresolved")}
    status, detail = "ok", None
    if rest["unresolved"] > UNRESOLVED_BOUND:
        status = "failed"
        detail = (
            f"{rest['unresolved']:.3f} of the probability is in first tokens that decide nothing or were not returned "
            f"(bound {UNRESOLVED_BOUND}): sample instead, with `top_logprobs: 0`"
            if top
            else f"{len(failed)} of {len(records)} samples failed, as: {failed[0]}"
        )
    probabilities = [float(masses[index]) for index in range(len(labels))]
    said = (
        None
        if top
        else json.dumps([[record["status"], record.get("text", "")] for record in records], ensure_ascii=False)
    )
    return _response(row, 0, status, detail, probabilities=json.dumps(probabilities), replies=said, **rest)


def _sampled(records: list[dict], labels: list[str], reader: Reader) -> Masses:
    """Shares of the samples by outcome; one without an answer is unresolved: nobody knows what it would have said."""
    counts: Counter[Outcome] = Counter()
    for record in records:
        outcome = _OUTCOMES.get(record["status"])
        counts[whole_reading(reader, record["text"], labels) if outcome is None else outcome] += 1
    return defaultdict(float, {outcome: count / len(records) for outcome, count in counts.items()})


def _exact(top: list[list], temperature: float, labels: list[str], reader: Reader) -> Masses:
    """Masses by outcome from the first token's top log-probabilities, at ``temperature`` (0 to 1).

    A token that is a label counts for it unless another label begins with it; any other that decides nothing is
    unresolved, and so is the mass that was not returned. Tempering moves that mass: tokens hidden below the least
    returned probability p, with m in sum, come to at most m p^(1/T - 1), which is what is counted.
    """
    if temperature == 0:
        weights, hidden = [(max(top, key=itemgetter(1))[0], 1.0)], 0.0
    else:
        weights = [(token, math.exp(logprob / temperature)) for token, logprob in top]
        least = math.exp(min(logprob for _, logprob in top))
        left = max(0.0, 1 - sum(math.exp(logprob) for _, logprob in top))
        hidden = left * least ** (1 / temperature - 1)
    total = sum(weight for _, weight in weights) + hidden
    masses: Masses = defaultdict(float, {"unresolved": hidden / total})
    for token, weight in weights:
        masses[_first_token(token, labels, reader)] += weight / total
    return masses


def _first_token(token: str, labels: list[str], reader: Reader) -> int | str:
    outcome = reader(token, labels, False)
    if outcome is None:
        outcome = reader(token, labels, True)
        if not isinstance(outcome, int) or sum(label.startswith(labels[outcome]) for label in labels) > 1:
            return "unresolved"
    return outcome


def _likelihood(row: Mapping, record: dict) -> dict:
    if record["status"] != "ok":
        return _response(row, 0, record["status"], record.get("detail"))
    prefix = row["prefix"] if isinstance(row["prefix"], str) else ""
    try:
        scored = continuation_logprobs(record, prefix, row["continuation"])
    except BadReply as error:
        return _response(row, 0, "failed", str(error))
    logprobs = [logprob for logprob in scored if logprob is not None]
    if len(logprobs) < len(scored):
        return _response(row, 0, "not_applicable", "the endpoint gives no probability for the first token of a text")
    total = math.fsum(logprobs)
    nll_per_token = -total / len(logprobs)
    return _response(row, 0, "ok", None, log_likelihood=total, tokens=len(logprobs), nll_per_token=nll_per_token)


def continuation_logprobs(record: dict, prefix: str, continuation: str) -> list[float | None]:
    """The log-probabilities (nats) of the tokens that end inside ``continuation``, from the echo of both joined.

    Tokens are matched with the text from the front and, where a character is cut into bytes and shows as no text, from
    the back. The last token is the one that was written, not read. Raises :class:`BadReply` where neither reaches the
    boundary.
    """
    tokens, logprobs = record["tokens"], record["logprobs"]
    count = record["prompt_tokens"] or len(tokens) - 1
    tokens, logprobs = tokens[:count], logprobs[:count]
    text = prefix + continuation
    first = 1 if logprobs and logprobs[0] is None and (not tokens[0] or not text.startswith(tokens[0])) else 0
    position = 0
    for index in range(first, len(tokens)):
        if not text.startswith(tokens[index], position):
            break
        position += len(tokens[index])
        if position > len(prefix):
            return logprobs[index:]
    position = len(text)
    for index in range(len(tokens) - 1, first - 1, -1):
        if not text.endswith(tokens[index], 0, position):
            break
        position -= len(tokens[index])
        if position <= len(prefix):
            return logprobs[index:]
    raise BadReply("the endpoint's tokens do not spell the text around the boundary")
