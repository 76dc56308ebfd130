"""The other end: is it there, does it know us and the model, and what do its errors mean."""

import email.utils
import logging
import math
import os
import random
import time
from collections.abc import Mapping

import httpx2
import openai

from biasatlas.errors import UserError
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.calls import LENGTH, PATHS, echo_body
from biasatlas.models.endpoint.replies import continuation_logprobs, filtered, read_reply

log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it has a line for every request

#: Before attempt k a client waits between 0 and this much times 2^k, evenly drawn, and a minute at most.
BACKOFF_S = 0.5

#: Half precision and another batch move a token's log-probability by less than this.
MAX_DIFFERENCE_NATS = 0.1

_CHECK_TIMEOUT_S = 10
_SHOWN = 300


def check(entry: ApiEntry) -> None:
    """Raise UserError within seconds if ``entry`` cannot work: no key, unreachable, wrong key, unknown model.

    Asks for the endpoint's list of models, which costs nothing; only where the model is not on it, for one token.
    """
    key = api_key(entry)
    with openai.OpenAI(api_key=key, base_url=entry.base_url, timeout=_CHECK_TIMEOUT_S, max_retries=2) as client:
        try:
            names = _models(client)
            if entry.model not in names:
                length = LENGTH.get(entry.dialect, "max_tokens")
                body = {"model": entry.model, "messages": [{"role": "user", "content": "1"}], length: 1}
                client.post(PATHS["text"], cast_to=httpx2.Response, body=body | entry.extra_body)
                log.warning("%s does not list %s but answers under that name", entry.base_url, entry.model)
        except openai.APIStatusError as error:
            if message := fatal(error, entry):
                listed = f" It lists: {', '.join(sorted(names)[:20])}." if error.status_code == 404 and names else ""
                raise UserError(message + listed) from None
        except openai.APIConnectionError as error:
            raise UserError(
                f"{entry.base_url} cannot be reached ({hide(str(error.__cause__ or error), entry)}): is `base_url` "
                "right, and is the endpoint up?"
            ) from None


def api_key(entry: ApiEntry) -> str:
    """The key from the environment variable that ``entry`` names; raises UserError if that is unset or empty."""
    if not entry.key_env:
        return "none"
    key = os.environ.get(entry.key_env, "").strip()
    if key and key.isascii() and key.isprintable():
        return key
    raise UserError(
        f"{entry.model} at {entry.base_url}: the environment variable {entry.key_env} (`key_env`) "
        f"{'holds characters that no key has' if key else 'is not set'}. Put the key there: export {entry.key_env}=..."
    )


def hide(text: str, entry: ApiEntry) -> str:
    """The beginning of ``text``, without the key: some endpoints repeat it in their errors."""
    return (text.replace(api_key(entry), "***") if entry.key_env else text)[:_SHOWN]


def retry_after_s(headers: Mapping[str, str]) -> float:
    """The seconds that a reply's headers ask to wait, from ``Retry-After`` as a number or a date; 0 if they do not."""
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000 if "retry-after-ms" in headers else float(value))
    except ValueError:
        date = email.utils.parsedate_tz(value)
        return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0


def _models(client: openai.OpenAI) -> set[str]:
    """The names that the endpoint lists; empty if it lists none (not every one does)."""
    try:
        return {model["id"] for model in client.get("/models", cast_to=httpx2.Response).json()["data"]}
    except (openai.NotFoundError, openai.InternalServerError, openai.RateLimitError, ValueError, KeyError, TypeError):
        return set()


def fatal(error: openai.APIStatusError, entry: ApiEntry) -> str:
    """What to tell the user if every other call would fail alike, else ''."""
    where, words = f"{entry.model} at {entry.base_url}", said(error, entry)
    if filtered(error.status_code, words):
        return ""
    if error.status_code in (401, 403):
        variable = f"the key in {entry.key_env}" if entry.key_env else "a call without a key (`key_env` is empty)"
        return f"{where} does not accept {variable}: {words}"
    if error.status_code == 404:
        return f"{where}: unknown `model` or wrong `base_url`: {words}"
    if error.status_code == 402 or "insufficient_quota" in words:
        return f"{where}: the account has no credit left: {words}. All answers are kept; top it up and run again."
    return ""


def backoff_s(attempt: int) -> float:
    """Seconds to wait before ``attempt`` (1 for the second), drawn so that clients do not come back together."""
    return random.uniform(0, min(60, BACKOFF_S * 2**attempt))


def may_pass(status_code: int) -> bool:
    """Whether a call with this error status may be answered a little later."""
    return status_code >= 500 or status_code in (408, 409, 425, 429)


def said(error: openai.APIStatusError, entry: ApiEntry) -> str:
    """What an error status says in its body: code, type and message where it has them."""
    body = error.body
    if isinstance(body, dict):
        words = dict.fromkeys(str(body[name]) for name in ("code", "type", "message") if body.get(name))
        body = " ".join(words) or body
    return hide(str(body or error.response.text), entry)


def check_logprobs(entry: ApiEntry) -> None:
    """Raise UserError unless an echo's log-probabilities are those with which the endpoint writes.

    The endpoint writes a token and says how probable it was; appended to the text and echoed, it must be so again.
    """
    where, differences = f"{entry.model} at {entry.base_url}", []
    with openai.OpenAI(api_key=api_key(entry), base_url=entry.base_url, timeout=entry.timeout_s) as client:

        def logprobs(text: str, echo: bool) -> dict:
            body = echo_body(text, entry) | {"echo": echo}
            return read_reply(client.post(PATHS["prompt"], cast_to=httpx2.Response, body=body).json(), "prompt")

        for text in ("The capital of France is", "One, two, three, four,", "My name is", "今天的天气很好,"):
            try:
                written = logprobs(text, echo=False)
                token = written["tokens"][0]
                echoed = continuation_logprobs(logprobs(text + token, echo=True), text, token)
            except (openai.OpenAIError, ValueError, LookupError) as error:
                raise UserError(
                    f"{where} returns no log-probabilities of a prompt ({hide(str(error), entry)}). "
                    "Set `prompt_logprobs: false`."
                ) from None
            if token and len(echoed) == 1:  # one without text, or read as part of another or as several, says nothing
                differences.append(abs(echoed[0] - written["logprobs"][0]))
    if not differences or not max(differences) < MAX_DIFFERENCE_NATS:
        raise UserError(
            f"{where}: log-probabilities of a prompt differ from those of writing by "
            f"{max(differences, default=math.nan):.3f} nats on a known text, so they cannot be trusted. "
            "Set `prompt_logprobs: false`."
        )
