"""An endpoint over HTTP: calls without redirects, each on a new connection, and what a response means.

If a server or proxy sends a response twice on a kept connection, the second one answers the next call: of 300 calls up
to 46 rows were wrong, and none with ``Connection: close``. A new connection costs up to a millisecond a call.
"""

import base64
import email.utils
import json
import math
import random
import re
import time
from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import openai

from biasatlas.errors import UserError
from biasatlas.files import write_text
from biasatlas.models.endpoint import VERSION, Kind, services
from biasatlas.models.endpoint.calls import Wants
from biasatlas.models.endpoint.entry import ApiEntry, api_key, service_of
from biasatlas.models.endpoint.replies import NO_TEXT, BadReply, printable, read_reply

#: An endpoint that asks to wait longer (a day's quota) stops the job instead.
MAX_RETRY_AFTER_S = 3600

#: Bytes that a reply may have: a fixed number, for instance for thinking that no limit counts, and more for each token
#: of prompt and answers.
_BYTES, _BYTES_A_TOKEN = 1 << 20, 200

#: No cookies are kept: sent back they would distinguish calls, and grow until no call is taken.
_NO_COOKIES = DefaultCookiePolicy(allowed_domains=[])

_most_bytes: ContextVar[int] = ContextVar("_most_bytes", default=64 << 20)
#: The most seconds of a reply's body, for callers that do not limit a whole call.
most_seconds: ContextVar[float] = ContextVar("most_seconds", default=math.inf)

#: Before retry k a client waits between 0 and this much times 2^k, evenly drawn, and a minute at most.
BACKOFF_S = 0.5

#: The longest wait for a limit: services say when all of it is available again, and some of it is before.
_LONGEST_RESET_S = 60.0

_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}

#: Words of errors about an empty account, not about a wrong key.
_CREDIT = re.compile(r"quota|credit|balance|funds|billing|payment|^402\b|^1113\b", re.IGNORECASE)

#: A shorter key is no secret: a user's own servers take "EMPTY" or "test", words that answers use, too.
_SECRET = 12

#: Characters of a message that are passed on.
_SHOWN = 300

T = TypeVar("T")


class TooLong(ValueError):
    """A reply larger than any answer to its call, one that comes too slowly, or one that is compressed unasked."""


def options(entry: ApiEntry, *, asynchronous: bool = False, timeout_s: float | None = None) -> dict[str, Any]:
    """Arguments of the openai package's client for an ``entry``. Raises UserError if the key is not there."""
    hook = _bound_async if asynchronous else _bound
    make = openai.DefaultAsyncHttpxClient if asynchronous else openai.DefaultHttpxClient
    return {
        "api_key": api_key(entry),
        "base_url": entry.base_url,
        "max_retries": 0,
        "timeout": timeout_s,
        "default_headers": entry.extra_headers | {"Connection": "close", "Accept-Encoding": "identity"},
        "http_client": make(follow_redirects=False, event_hooks={"response": [hook]}, cookies=CookieJar(_NO_COOKIES)),
    }


async def reply_bytes(client: openai.AsyncOpenAI, path: str, body: dict, tokens: int) -> bytes:
    """The reply to ``body``, which has this number of ``tokens`` with its answers. Raises openai.OpenAIError if it
    fails."""
    _most_bytes.set(_BYTES + _BYTES_A_TOKEN * tokens)
    return (await client.post(path, cast_to=httpx2.Response, body=body)).content


class _Bounded(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """A reply's body of at most ``most`` bytes which, if not read asynchronously, takes at most ``seconds``."""

    def __init__(self, stream: Any, most: int, seconds: float):
        self._stream, self._most, self._until = stream, most, time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        left = self._most
        for chunk in self._stream:
            left -= len(chunk)
            self._check(left)
            if time.monotonic() > self._until:
                raise TooLong("a reply that comes byte by byte")
            yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for chunk in self._stream:
            left -= len(chunk)
            self._check(left)
            yield chunk

    def _check(self, left: int) -> None:
        if left < 0:
            raise TooLong(f"a reply of more than {self._most} bytes")

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _bound(response: httpx2.Response) -> None:
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise TooLong(f"a reply packed by {encoding!r}, which was not asked for")
    response.stream = _Bounded(response.stream, _most_bytes.get(), most_seconds.get())


async def _bound_async(response: httpx2.Response) -> None:
    _bound(response)


def shown(text: str, entry: ApiEntry) -> str:
    """The beginning of a ``text`` that is not ours, without the key and without what steers a terminal."""
    return printable(redact_key(text, entry)[:_SHOWN])


def redact_key(text: str, entry: ApiEntry) -> str:
    """``text`` without the key, escaped or not: some endpoints repeat it in errors, and one might in replies."""
    key = api_key(entry) if entry.key_env else ""
    return _key_pattern(key).sub("***", text) if len(key) >= _SECRET else text


@cache
def _key_pattern(key: str) -> re.Pattern[str]:
    """``key`` as it is, in Base64, and with any of its characters escaped as JSON, URLs or HTML may have them."""
    spelt = (
        rf"(?:\\*{re.escape(letter)}|\\+u00{ord(letter):02x}|%(?:25)*{ord(letter):02x}|&#(?:0*{ord(letter)}|x0*{ord(letter):x});)"
        for letter in key
    )
    return re.compile("|".join(["".join(spelt), re.escape(base64.b64encode(key.encode()).decode())]), re.IGNORECASE)


def error_text(error: openai.APIStatusError, entry: ApiEntry) -> str:
    """What an error status says in its body or, if it is a redirect, where it sends calls."""
    text = _said(error.body) or error.response.text
    if text.lstrip().startswith("<"):
        text = " ".join(re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL).split())
    if 300 <= error.status_code < 400:
        text = f"sends calls on to {error.response.headers.get('location', 'nowhere')}, which gets no prompt and no key"
    return shown(text or error.response.text, entry)


def broken_reason(error: Exception, entry: ApiEntry) -> str:
    """The reason of a call that ``error`` broke, or that had no whole reply in time."""
    if isinstance(error, TimeoutError):
        return f"no whole reply within {entry.timeout_s:g} s (`timeout_s`)"
    cause: BaseException | None = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    while cause and not str(cause) and (inner := cause.__cause__ or cause.__context__):  # wrapped without words
        cause = inner
    return shown(f"{type(cause or error).__name__}: {cause or error}", entry)


@dataclass(frozen=True)
class Outcome:
    """What a response means, with the ``reason`` if there is no answer.

    ``records`` are what the store keeps: one for each choice of a reply (None if it is no answer), or one for an error
    that counts as an answer. A "retry" that is ``unknown`` is complete, but says what nobody knows: it may be about the
    prompt alone.
    """

    kind: Kind
    reason: str = ""
    records: tuple[dict | None, ...] = ()
    unknown: bool = False


def outcome(status: int, content: bytes, wants: Wants = "text", service: str = "", thinks: bool = False) -> Outcome:
    """What a response of this HTTP ``status`` and body means, at a ``service`` ('' if it is not known).

    A reply of status 200 whose body is an error has the status that the error names. A reply with several choices has
    the kind of the first that is an answer.
    """
    if status == 200:
        # Some gateways put an error beside the text that came before it, and call the reply complete.
        if b'"error"' in content and (error := _error_in(_json(content))):
            return _of_error_body(error, service)
        try:
            records = read_reply(content, wants, thinks)
        except BadReply as fault:
            return _no_answer(content, fault, service)
        first = next(record for record in records if record)
        return Outcome(first["status"], records=tuple(records))
    text = _said(_json(content))
    return _error(services().of_error(status, text, service), f"{status} {text}")


def _no_answer(content: bytes, fault: BadReply, service: str) -> Outcome:
    """What a reply of status 200 without an answer means: by its service if it has no choices, else "retry"."""
    body = _json(content)
    if isinstance(body, dict) and body.get("choices") == []:
        found = _error(services().services[service].empty_choices if service else "retry", "no answer: no choice")
        return replace(found, unknown=found.kind == "retry")
    return Outcome("retry", str(fault), unknown=fault.unknown)


def _error_in(body: Any) -> Any:
    """The error that the body of a reply of status 200 names, for itself or for each of its choices; None if
    there is none, or one that says nothing."""
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    of_choices = [each.get("error") for each in choices if isinstance(each, dict)] if isinstance(choices, list) else []
    errors = [body.get("error"), *(of_choices[:1] if all(map(_said, of_choices)) else [])]
    return next(filter(_said, errors), None)


def _of_error_body(error: Any, service: str) -> Outcome:
    """What an ``error`` in the body of a reply of status 200 means: its code, if any, is a status or a word."""
    code, text = str(error.get("code") if isinstance(error, dict) else ""), _said(error)
    if code.isdecimal():
        return _error(services().of_error(int(code), text, service), f"{code} {text}")
    kind = services().of_error(400, text, service)
    return _error(kind if kind in ("filtered", "account") else services().of_error(500, text, service), f"500 {text}")


def _error(kind: Kind, reason: str) -> Outcome:
    """The outcome of an error of a ``kind``, with a record for the store if it counts as an answer."""
    if kind not in ("filtered", "thought"):
        return Outcome(kind, reason)
    record: dict = {
        "version": VERSION,
        "status": kind,
        "text": "",
        "finish_reason": "content_filter" if kind == "filtered" else "length",
        # If a prompt was filtered, no model ran, and errors are not charged; thinking may have been charged.
        "prompt_tokens": 0 if kind == "filtered" else None,
        "completion_tokens": 0 if kind == "filtered" else None,
        "served_model": None,
        "choice": 0,
    }
    detail = {"detail": NO_TEXT["thought"]} if kind == "thought" else {}
    return Outcome(kind, reason, (record | detail,))


def _said(body: Any) -> str:
    """What the body of an error says: its code, type, status, message and those inside it, if it has them."""
    if isinstance(body, list):
        return " ".join(filter(None, map(_said, body)))
    if not isinstance(body, dict):
        return str(body or "")
    inner = [body[name] for name in ("error", "innererror", "metadata", "detail", "loc") if body.get(name)]
    words = [str(body[name]) for name in ("code", "type", "status", "message", "msg", "reasons") if body.get(name)]
    return " ".join(dict.fromkeys(filter(None, [*words, *map(_said, inner)])))


def _json(content: bytes) -> Any:
    text = content.decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def outcome_of(error: openai.APIStatusError, entry: ApiEntry) -> Outcome:
    """What an error status means at the service of an ``entry``."""
    return outcome(error.status_code, error.response.content, service=service_of(entry))


def start_batch(client: openai.OpenAI, state: dict, path: Path) -> str:
    """The id of the batch for an uploaded file: the one that an earlier attempt made, or else a new one.

    ``state`` is the content of the file at ``path``, which notes that a batch is asked for before it is.
    """
    seen = set[str]()
    for batch in client.batches.list(limit=100) if state.get("asked", True) else ():  # of all pages
        if batch.input_file_id == state["file"]:
            return batch.id
        if batch.id in seen:  # a service with one page returns it again and again
            break
        seen.add(batch.id)
    state["asked"] = True
    write_text(json.dumps(state), path)
    return client.batches.create(input_file_id=state["file"], endpoint=state["url"], completion_window="24h").id


def outcome_of_row(line: bytes, keys: Container[str], wants: Wants, entry: ApiEntry) -> tuple[str, Outcome]:
    """The key and outcome of a row of a batch's results. Raises ValueError if it is no row of one of ``keys``."""
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    key = row.get("custom_id") if isinstance(row, dict) else None
    if not isinstance(key, str) or key not in keys:
        raise ValueError("its custom_id belongs to no call")
    response = row.get("response")
    if not isinstance(response, dict) or "body" not in response:
        return key, Outcome("retry", str(row.get("error")))
    status = response.get("status_code")
    if not isinstance(status, int):
        return key, Outcome("retry", f"no status: {response}")
    content = json.dumps(response["body"]).encode()
    return key, outcome(status, content, wants, service_of(entry), bool(entry.thinking))


def fatal(kind: Kind, text: str, entry: ApiEntry) -> str:
    """The message about an error that says ``text``, if every other call would fail alike, else ''."""
    where, text = entry.where, text.rstrip(". ")
    if kind == "account" and _CREDIT.search(text):
        return f"{where}: the account has no credit left: {text}. All answers are kept; top it up and run again."
    if kind == "account":
        if entry.key_env:
            return f"{where} does not accept the key in {entry.key_env}: {text}. Put one there that may use this model."
        return (
            f"{where} does not accept a call without a key: {text}. Put one that may use this model into an "
            "environment variable, and the variable's name into `key_env`."
        )
    if kind == "model":
        return f"{where}: unknown `model` or wrong `base_url`: {text}"
    return ""


def backoff_s(attempt: int) -> float:
    """Seconds to wait before ``attempt`` (1 for the second), drawn so that clients do not come back together."""
    return random.uniform(0, min(60, BACKOFF_S * 2**attempt))


def asked_wait_s(headers: Mapping[str, str]) -> float:
    """The seconds that the headers of a reply which asks for fewer calls ask to wait; 0 if they do not.

    ``Retry-After`` comes first; else the wait ends when used-up limits are fully available again, a minute at most.
    """
    if (wait_s := retry_after_s(headers)) > 0:
        return wait_s
    used_up = [
        headers.get(reset, "") for reset, left in services().resets.items() if headers.get(left, "").strip() == "0"
    ]
    return min(_LONGEST_RESET_S, max(map(_until_s, used_up), default=0.0))


def _until_s(text: str) -> float:
    """The seconds in "1m2s", "6ms" or "7.5", or until a time in the format of RFC 3339; 0 for anything else."""
    if re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h|d))+", text):
        return sum(float(number) * _UNITS_S[unit] for number, _, unit in re.findall(r"(\d+(\.\d+)?)(ms|s|m|h|d)", text))
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def retry_after_s(headers: Mapping[str, str]) -> float:
    """The seconds that a reply's headers ask to wait, from ``Retry-After`` as a number or a date; 0 if they do not."""
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000 if "retry-after-ms" in headers else float(value))
    except ValueError:
        date = email.utils.parsedate_tz(value)
    try:
        return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0
    except (ValueError, OverflowError):  # no year of this calendar
        return 0.0


def persist(entry: ApiEntry, function: Callable[[], T], advice: str = "") -> T:
    """Call ``function`` until it works, as often as the entry allows; else raise UserError, which gives ``advice``."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return function()
        except (openai.OpenAIError, ValueError, AttributeError) as error:  # a page in place of JSON has no fields
            status = error if isinstance(error, openai.APIStatusError) else None
            kind = outcome_of(status, entry).kind if status else "retry"
            if attempt == entry.attempts or kind != "retry":
                message = status and fatal(kind, error_text(status, entry), entry)
                message = message or f"{entry.where}: the Batch API fails: {shown(str(error), entry)}"
                raise UserError(f"{message} {advice}".strip()) from None
            time.sleep(max(backoff_s(attempt), retry_after_s(status.response.headers) if status else 0))
