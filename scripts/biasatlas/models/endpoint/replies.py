"""Parse an endpoint's reply, strictly and within bounds, into the records that the store keeps.

The parts that make an answer (text, finish reason, log-probabilities) must be valid, or there is no answer. Parts that
only add to it (tokens, names) count as unknown if they are not valid: the answer was paid for.
"""

import json
import math
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from biasatlas.benchmarks.shared.parsing.normalise import split_thinking
from biasatlas.models.endpoint import VERSION, Status, services
from biasatlas.models.endpoint.calls import Wants

#: Bounds of log-probabilities in nats (rounding may put one just above 0), and what vLLM gives for a missing one.
LEAST_LOGPROB, MOST_LOGPROB, _ABSENT = -9998.0, 1e-4, -9999
#: The most that the probabilities of several tokens may add to.
MOST_MASS = 1 + 1e-3

_MOST_TOKENS = 100_000_000

#: Control and format characters, halves of surrogate pairs, and the two that end a line or a paragraph.
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}

T = TypeVar("T")


def printable(text: str) -> str:
    """``text`` without what could steer a terminal or forge a line of a log: control and formatting characters."""
    return "".join(" " if unicodedata.category(character) in _UNPRINTABLE else character for character in text)


def _or_none(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


#: A T, or None in place of anything else.
Known = Annotated[T | None, WrapValidator(_or_none)]
Tokens = Annotated[int, Field(ge=0, le=_MOST_TOKENS)]
Name = Annotated[str, Field(max_length=300), AfterValidator(printable)]
Logprob = Annotated[float, Field(ge=LEAST_LOGPROB, le=MOST_LOGPROB)]


def _said(content: Any) -> Any:
    """The text of a message that comes in parts: those of type text, without thinking."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return content
    said = [part.get("text") for part in content if part.get("type") == "text"]
    return "".join(said) if all(isinstance(text, str) for text in said) else content


def _thought(content: Any) -> str:
    """The thinking in a message that comes in parts, which may have parts themselves."""
    parts = content if isinstance(content, list) else []
    found = [part.get("thinking") for part in parts if isinstance(part, dict) and part.get("type") == "thinking"]
    said = (_said(thought) for thought in found)
    return "".join(_whole_characters(text) for text in said if isinstance(text, str))


#: A text in which halves of surrogate pairs, which no file can hold, are replaced.
Text = Annotated[str, BeforeValidator(lambda text: _whole_characters(text))]


def _whole_characters(text: Any) -> Any:
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


#: Thinking, '' if it is no text: no answer depends on it.
Thought = Annotated[str, BeforeValidator(lambda text: _whole_characters(text) if isinstance(text, str) else "")]

_Pair = Annotated[tuple[str, Logprob], Strict(False)]


class _Top(_Strict):
    token: Text
    logprob: Logprob


def _without_absent(tops: Any) -> Any:
    """The tokens that have a value: vLLM also lists others, with -9999."""
    absent = [isinstance(top, dict) and top.get("logprob") == _ABSENT for top in tops] if isinstance(tops, list) else []
    return [top for top, drop in zip(tops, absent, strict=True) if not drop] if any(absent) else tops


class _Position(_Strict):
    top_logprobs: Annotated[list[_Top], BeforeValidator(_without_absent), Field(min_length=1, max_length=1000)]

    @model_validator(mode="after")
    def _is_a_distribution(self) -> "_Position":
        mass = math.fsum(math.exp(top.logprob) for top in self.top_logprobs)
        if mass > MOST_MASS:
            raise ValueError(f"the top probabilities of a token add to {mass:.4f}")
        return self


class ChatLogprobs(_Strict):
    """Log-probabilities of what was written, by token; only the most likely first tokens are used."""

    content: Annotated[list[_Position], Field(min_length=1)]


class EchoLogprobs(_Strict):
    """Log-probabilities of the tokens of a prompt and of what was written after it; the first may have none."""

    tokens: Annotated[list[Text], Field(min_length=1)]
    token_logprobs: list[Logprob | None]

    @model_validator(mode="after")
    def _one_for_each(self) -> "EchoLogprobs":
        if len(self.tokens) != len(self.token_logprobs):
            raise ValueError(f"{len(self.tokens)} tokens with {len(self.token_logprobs)} log-probabilities")
        if None in self.token_logprobs[1:]:
            raise ValueError("a token after the first has no log-probability")
        return self


class Message(_Strict):
    """The message of an answer."""

    content: Annotated[Text | None, BeforeValidator(_said)] = None
    refusal: Text | None = None
    tool_calls: Any = None
    function_call: Any = None
    reasoning: Thought = ""
    reasoning_content: Thought = ""
    chunks: Annotated[str, BeforeValidator(_thought)] = Field("", validation_alias="content")

    @property
    def thought(self) -> str:
        """The thinking before the answer, if the endpoint keeps it apart."""
        return self.chunks or self.reasoning_content or self.reasoning


class ChatChoice(_Strict):
    """One answer of a chat; ``logprobs`` are only validated if they were asked for."""

    finish_reason: Name | None = None
    message: Message
    logprobs: Any = None


class EchoChoice(_Strict):
    """A text with its log-probabilities."""

    finish_reason: Name | None = None
    logprobs: EchoLogprobs


class _Details(_Strict):
    reasoning_tokens: Known[Tokens] = None


class _Usage(_Strict):
    prompt_tokens: Known[Tokens] = None
    completion_tokens: Known[Tokens] = None
    total_tokens: Known[Tokens] = None
    completion_tokens_details: Known[_Details] = None

    @property
    def thought(self) -> int | None:
        """Tokens of thinking; None if the endpoint does not say. Gemini counts them in the total only."""
        told = self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else None
        return told or self._beyond or told

    @property
    def written(self) -> int | None:
        """Tokens that are paid for as completion, with those of thinking, which xAI counts separately."""
        if self.completion_tokens is None:
            return None
        beside = self.thought or 0
        return self.completion_tokens + max(self._beyond, beside if beside > self.completion_tokens else 0)

    @property
    def _beyond(self) -> int:
        if self.total_tokens is None or self.prompt_tokens is None or self.completion_tokens is None:
            return 0
        return max(0, self.total_tokens - self.prompt_tokens - self.completion_tokens)


class _Reply(_Strict):
    id: Known[Name] = None
    model: Known[Name] = None
    system_fingerprint: Known[Name] = None
    usage: Known[_Usage] = None


class ChatReply(_Reply):
    """A reply to a chat; a choice that is no answer is None."""

    choices: Annotated[list[Known[ChatChoice]], Field(min_length=1)]


class EchoReply(_Reply):
    """A reply that echoes a prompt."""

    choices: Annotated[list[EchoChoice], Field(min_length=1)]


class Record(_Strict):
    """What the store keeps of an answer; ``version`` 1 did not say where it comes from.

    ``time`` is in seconds since 1970, ``attempt`` counts from 1, ``choice`` is the answer's place among those of one
    reply, which share its tokens. ``thinking`` came before the answer and is no part of it; its tokens are among
    ``completion_tokens``. A record with ``tokens`` has ``logprobs``.
    """

    version: Annotated[int, Field(ge=1)] = 1
    status: Status
    finish_reason: str
    text: str | None = None
    detail: str | None = None
    top: Annotated[list[_Pair], Field(min_length=1)] | None = None
    tokens: list[str] | None = None
    logprobs: list[Logprob | None] | None = None
    prompt_tokens: Known[Tokens] = None
    completion_tokens: Known[Tokens] = None
    thinking: str | None = None
    thinking_tokens: Known[Tokens] = None
    served_model: Known[Name] = None
    response_id: Known[Name] = None
    fingerprint: Known[Name] = None
    time: Annotated[float, Field(ge=0)] = 0.0
    attempt: Annotated[int, Field(ge=0)] = 0
    choice: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _holds_an_answer(self) -> "Record":
        if self.tokens is not None:
            EchoLogprobs(tokens=self.tokens, token_logprobs=self.logprobs or [])
        elif self.text is None:
            raise ValueError("neither a text nor log-probabilities")
        return self


#: Why a reply of status 200 has nothing to read.
NO_TEXT = {
    "tool": "the endpoint called a tool and said nothing",
    "thought": "the model used all of its tokens, as for thinking, and said nothing",
    "empty": "the endpoint said nothing",
}

Reply = TypeVar("Reply", ChatReply, EchoReply)


class BadReply(ValueError):
    """A reply with status 200 that is no answer; it may be asked again.

    It is ``unknown`` if it is complete but says what nobody knows: it may be about its prompt.
    """

    unknown = False


def _broken(finish: str) -> BadReply:
    """The error for a choice whose ``finish`` reason does not end an answer."""
    known = services().is_known(finish)
    why = "the endpoint broke off:" if known else "nobody knows the" if finish else "no"
    error = BadReply(f"{why} finish reason {finish}".strip())
    error.unknown = not known
    return error


def read_reply(content: bytes, wants: Wants, thinks: bool = False) -> list[dict | None]:
    """The records of a reply's choices: what the store keeps, None for a choice that is no answer.

    Completion tokens are divided evenly among the answers; prompt tokens count for the first. If the model ``thinks``,
    its thinking is cut from the text. Raises :class:`BadReply` for anything that holds no answer.
    """
    reply = _read(content, EchoReply) if wants == "prompt" else _read(content, ChatReply)
    records: list[dict | None] = []
    fault = BadReply("no answer: no choice")
    choices: Sequence[ChatChoice | EchoChoice | None] = reply.choices
    for choice in choices:
        try:
            records.append(_record(choice, wants, thinks))
        except BadReply as error:
            records.append(None)
            fault = error
    answers = [record for record in records if record is not None]
    if not answers:
        raise fault
    usage = reply.usage or _Usage()
    for place, record in enumerate(answers):
        record |= {
            "prompt_tokens": _part(usage.prompt_tokens, place, 1),
            "completion_tokens": _part(usage.written, place, len(answers)),
            "served_model": reply.model,
            "response_id": reply.id,
            "fingerprint": reply.system_fingerprint,
            "choice": place,
        }
        if usage.thought is not None:
            record["thinking_tokens"] = _part(usage.thought, place, len(answers))
    return records


def _read(content: bytes, schema: type[Reply]) -> Reply:
    """The reply, validated by ``schema``; a byte order mark and halves of surrogate pairs are tolerated."""
    text = content.decode("utf-8-sig", "replace")
    if text.lstrip().startswith("<"):
        raise BadReply("no answer: a web page, not JSON")
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
    """The tokens for the answer at ``place``: an even share (the first ones have one more); 0 beyond ``shares``."""
    return None if tokens is None else tokens // shares + (place < tokens % shares) if place < shares else 0


def _first(error: ValidationError) -> str:
    """The first fault, in words."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the reply'}: {first['msg']}"


def _record(choice: ChatChoice | EchoChoice | None, wants: Wants, thinks: bool) -> dict:
    if choice is None:
        raise BadReply("no answer: a choice without a message that can be read")
    finish = choice.finish_reason or ""
    record: dict = {"version": VERSION, "finish_reason": finish}
    if isinstance(choice, EchoChoice):
        return record | {"status": "ok", "tokens": choice.logprobs.tokens, "logprobs": choice.logprobs.token_logprobs}
    message, kind = choice.message, services().of_finish(finish)
    thought, text = message.thought, message.content or message.refusal or ""
    if thinks and not thought:
        thought, text = split_thinking(text)
        text = text.strip() if thought else text
    record |= {"text": text} | ({"thinking": thought} if thought else {})
    if kind == "filtered":
        return record | {"status": "filtered"}
    if message.refusal or kind == "refused":
        return record | {"status": "refused"}
    if kind == "retry":
        raise _broken(finish)
    if wants == "first_token":
        try:
            (position, *_) = ChatLogprobs.model_validate(choice.logprobs).content
        except ValidationError as error:
            raise BadReply(f"no top log-probabilities, which were asked for: {_first(error)}") from None
        record |= {"top": [(top.token, top.logprob) for top in position.top_logprobs]}
    elif not text:
        if message.tool_calls or message.function_call or kind == "unparseable":
            return record | {"status": "unparseable", "detail": NO_TEXT["tool"]}
        if kind == "truncated" or thought:
            return record | {"status": "thought", "detail": NO_TEXT["thought"]}
        return record | {"status": "unparseable", "detail": NO_TEXT["empty"]}
    return record | {"status": "truncated" if kind == "truncated" else "ok"}


def stored(value: dict) -> dict | None:
    """The record that the store has, of any version; None if it is no record and must be asked for again."""
    try:
        record = Record.model_validate(value).model_dump()
    except ValidationError:
        return None
    if record["status"] == "refused" and services().of_finish(record["finish_reason"]) == "filtered":
        return record | {"status": "filtered"}  # version 2 had one status for both
    if record["detail"] == NO_TEXT["thought"]:
        return record | {"status": "thought"}  # which version 3 did not have
    if record["status"] == "ok" and not record["text"] and record["tokens"] is None and record["top"] is None:
        return record | {"status": "unparseable", "detail": NO_TEXT["empty"]}
    return record


def is_declined(record: dict) -> bool:
    """Whether a store's ``record`` says that the service or the model declined to answer."""
    return record.get("status") in ("filtered", "refused")


def continuation_logprobs(record: dict, prefix: str, continuation: str) -> list[float | None]:
    """The log-probabilities (nats) of the tokens that end inside ``continuation``, from the echo of both joined.

    Tokens are matched with the text from the front or, if a part of a character there shows as no text, from the back.
    The last token was written, not read, and is left out. Raises :class:`BadReply` if neither way reaches the boundary.
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
