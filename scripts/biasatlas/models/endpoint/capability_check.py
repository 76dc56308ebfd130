"""Check an endpoint before it is used: whether it answers, and takes the key, the model and what it will be sent.

The check asks requests of the kinds that the endpoint will get. Its answers show how to ask the rest: for several
answers in one call or not, with a seed or not.
"""

import dataclasses
import json
import logging
import math
import random
import re
import time
from typing import cast

import httpx2
import openai

from biasatlas import progress
from biasatlas.errors import UserError
from biasatlas.models.endpoint import Found, services
from biasatlas.models.endpoint.calls import PATHS, Wants, call_of, echo_body
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.replies import continuation_logprobs, read_reply
from biasatlas.models.endpoint.spending import Limits
from biasatlas.models.endpoint.transport import (
    asked_wait_s,
    error_text,
    fatal,
    most_seconds,
    options,
    outcome_of,
    shown,
)
from biasatlas.models.interface import ModelContext

log, terminal = logging.getLogger(__name__), logging.getLogger(progress.__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs every request

#: Half precision and another batch move a token's log-probability by less than this.
MAX_DIFFERENCE_NATS = 0.1

#: The prompt that shows whether equal calls are answered differently: two sampled answers are hardly ever equal.
RANDOM = "Write ten random words, and nothing else."

_CHECK_TIMEOUT_S = 30
#: How often a call is sent at most; for how many seconds, if the endpoint asks for fewer calls; and about how many
#: tokens a call of the check has.
_ATTEMPTS, _PATIENCE_S, _TOKENS = 3, 120, 64
_SAMPLES = 4
#: Numbers of answers in one call that are tried, most first: what OpenAI takes, then what others do.
_ANSWERS = (128, 8)


def check_model(opening: ModelContext) -> str:
    """What :func:`check` finds, as :func:`biasatlas.models.endpoint.read_found` reads it."""
    return json.dumps(dataclasses.asdict(check(cast(ApiEntry, opening.entry)))) + "\n"


def check(entry: ApiEntry) -> Found:
    """Check whether ``entry`` can work, and how; raises UserError if not: no key, unreachable, wrong key, unknown
    model, or settings that the endpoint does not take.

    Asks for the list of models, and for some hundred tokens in the form of the requests that will come.
    """
    timeout_s = min(_CHECK_TIMEOUT_S, entry.timeout_s)
    with openai.OpenAI(**options(entry, timeout_s=timeout_s)) as client:
        asking, before = _Probe(entry, client), most_seconds.set(timeout_s)
        try:
            return asking.run()
        except openai.APIStatusError as error:
            raise UserError(asking.explain(error)) from None
        except openai.APITimeoutError:
            more = ", or raise `timeout_s`" if timeout_s < _CHECK_TIMEOUT_S else ""
            raise UserError(
                f"{asking.where} gave no answer within {timeout_s:g} s, {_ATTEMPTS} times: is it up, or still loading "
                f"its model? Run again once it answers{more}."
            ) from None
        except openai.APIConnectionError as error:
            why = shown(str(error.__cause__ or error), entry)
            plain = entry.base_url.replace("https://", "http://", 1) if "WRONG_VERSION_NUMBER" in why else ""
            remedy = f"it speaks no TLS; try {plain}" if plain else "is `base_url` right, and is the endpoint up?"
            raise UserError(f"{entry.base_url} cannot be reached ({why}): {remedy}") from None
        except ValueError as error:
            raise UserError(
                f"{asking.where} answers with what is no reply to a chat ({shown(str(error), entry)}). "
                f"{asking.look_at_url()}."
            ) from None
        finally:
            asking.limits.close()
            most_seconds.reset(before)


class _Probe:
    def __init__(self, entry: ApiEntry, client: openai.OpenAI):
        self.entry, self.client = entry, client
        self.where = entry.where
        self.names: set[str] = set()
        self.limits = Limits(entry)
        self.dialect = services().dialects[entry.dialect]
        self.seed = self.dialect.seed

    def run(self) -> Found:
        self.names = self._models()
        if self.names and self.entry.model not in self.names:
            log.warning("%s does not list %s", self.entry.base_url, self.entry.model)
        records = self._ask(self._body(max_tokens=24))
        texts = {record["text"] for record in records}
        found = Found(served_model=shown(records[0]["served_model"] or "", self.entry))
        texts |= {record["text"] for _ in range(_SAMPLES - 1) for record in self._ask(self._body(max_tokens=24))}
        if texts == {""}:
            log.warning("%s said nothing in 24 tokens: does it think first? See `thinking`", self.where)
        elif len(texts) == 1:
            found = dataclasses.replace(found, seed=(seeded := self._is_seeded()), samples=seeded)
        found = dataclasses.replace(
            found, n=self._most_answers({self.seed: 11} if found.seed else {}, said=texts != {""})
        )
        if self.entry.top_logprobs and not self.entry.thinking:
            self._check_top()
        if self.entry.prompt_logprobs:
            self._check_logprobs()
        log.info("%s: %s", self.where, dataclasses.asdict(found))
        return found

    def explain(self, error: openai.APIStatusError) -> str:
        text, status, kind = error_text(error, self.entry), error.status_code, outcome_of(error, self.entry).kind
        if status in services().too_many and kind == "retry":
            return (
                f"{self.where} asks for fewer calls than the check makes ({status} {text}): run again later, or set "
                "`requests_per_minute`."
            )
        if kind == "retry":
            return (
                f"{self.where} has a fault of its own ({status} {text}): run again later; if the server is yours, look "
                "at `model` and its log."
            )
        names = ", ".join(shown(name, self.entry) for name in sorted(self.names)[:20])
        listed = f". It lists: {names}." if names else f". {self.look_at_url()}." if kind == "model" else ""
        # Nothing that the check asks is objectionable.
        message = fatal("account" if status == 403 and kind == "unanswerable" else kind, text, self.entry) or (
            f"{self.where} does not take the requests of this entry ({status} {text}): look at `model`, "
            "the key, `dialect`, `system` and `extra_body`."
        )
        return message + (listed if self.entry.model not in self.names else "")

    def look_at_url(self) -> str:
        """What to try if the address may be wrong."""
        if re.search(r"/v\d", self.entry.base_url):
            return "Compare `base_url` with the service's documentation"
        return f"Most end with a version: try `base_url: {self.entry.base_url}/v1`"

    def _models(self) -> set[str]:
        """The names that the endpoint lists; empty if it has no list, or does not take the key for it."""
        try:
            listed = json.loads(self.client.get("/models", cast_to=httpx2.Response).content)
            return {str(model["id"]) for model in listed["data"]}
        except (openai.APIStatusError, ValueError, KeyError, TypeError, RecursionError):
            return set()

    def _body(self, **settings: object) -> dict:
        """The body of a request as benchmarks make them, sampled at temperature 1."""
        row = {"kind": "generation", "messages": json.dumps([{"role": "user", "content": RANDOM}]), "temperature": 1.0}
        return call_of(row | {"top_p": 1.0, "repeats": 1} | settings, self.entry).body

    def _ask(self, body: dict, wants: Wants = "text") -> list[dict]:
        """The answers to a body, within the limits of all jobs; a failed call is repeated, longer for rate limits."""
        attempt, until = 0, time.monotonic() + _PATIENCE_S
        while True:
            self.limits.wait(_TOKENS)
            attempt, began = attempt + 1, time.time()
            try:
                reply = self.client.post(PATHS[wants], cast_to=httpx2.Response, body=body)
                return [record for record in read_reply(reply.content, wants, bool(self.entry.thinking)) if record]
            except openai.APIStatusError as error:
                found = outcome_of(error, self.entry)
                if found.records:
                    return [record for record in found.records if record]
                limited = error.status_code in services().too_many
                asked_s = asked_wait_s(error.response.headers)
                if found.kind != "retry" or (attempt >= _ATTEMPTS and not limited):
                    raise
                if limited and time.monotonic() + asked_s > until:
                    raise
                if limited and attempt == 2:
                    said = f"{error.status_code} {error_text(error, self.entry)}"
                    terminal.info("%s asks for fewer calls (%s): it may take %d s", self.where, said, _PATIENCE_S)
                if limited:
                    self.limits.slow(asked_s, time.time() - began)
            except (openai.APIConnectionError, ValueError):
                if attempt >= _ATTEMPTS:
                    raise

    def _most_answers(self, seed: dict, said: bool) -> int:
        """How many answers the endpoint gives in one call: 1 if they are copies of one, or if trying costs too much."""
        if self.entry.thinking:
            return 1
        for n in _ANSWERS if self.entry.n is None else (self.entry.n,):
            if 1 < n <= self.dialect.most_answers:
                try:
                    count = min(len(self._ask(self._body(max_tokens=1) | seed | {"n": n})), n)
                    if count == 1:
                        return 1
                    several = self._ask(self._body(max_tokens=24) | seed | {"n": min(count, _SAMPLES)})
                except (openai.APIStatusError, openai.APIConnectionError, ValueError):
                    continue
                if said and len({record["text"] for record in several}) == 1:
                    log.warning(
                        "%s gives one text %d times where it is asked for several in one call", self.where, count
                    )
                    return 1
                return count
        return 1

    def _is_seeded(self) -> bool:
        """Whether the answers to equal calls differ if each call has a seed of its own."""
        body = self._body(max_tokens=24)
        try:
            texts = {self._ask(body | {self.seed: seed})[0]["text"] for seed in (11, 22, 33)}
        except openai.APIStatusError:
            texts = set()
        if len(texts) > 1:
            return True
        log.warning(
            "%s gave %d equal calls at temperature 1 one text: it is greedy, or what answers is a cache",
            self.where,
            _SAMPLES,
        )
        return False

    def _check_top(self) -> None:
        """Raise UserError if the endpoint gives no top log-probabilities; warn if it gives fewer than asked for."""
        body = self._body(max_tokens=1) | {"logprobs": True, "top_logprobs": self.entry.top_logprobs}
        try:
            (record, *_) = self._ask(body, "first_token")
            count = len(record.get("top") or ())
        except (openai.APIStatusError, ValueError) as error:
            text = error_text(error, self.entry) if isinstance(error, openai.APIStatusError) else str(error)
            raise UserError(
                f"{self.where} gives no {self.entry.top_logprobs} top log-probabilities ({shown(text, self.entry)}). "
                "Set `top_logprobs` to what it gives, or to 0 to sample."
            ) from None
        if count < self.entry.top_logprobs:
            log.warning("%s gives %d top log-probabilities, not %d", self.where, count, self.entry.top_logprobs)

    def _check_logprobs(self) -> None:
        """Raise UserError unless an echoed token is as probable as when it was written, whatever the order of texts.

        The endpoint writes a token and says how probable it was. Appended to its text and echoed, the token must be as
        probable; so must all tokens when the texts are echoed again in another order, since what a server keeps of one
        text must not change the next.
        """

        def logprobs(text: str, echo: bool) -> dict:
            return self._ask(echo_body(text, self.entry) | {"echo": echo}, "prompt")[0]

        differences: list[float] = []
        echoes: dict[str, list[float | None]] = {}
        try:
            for text in ("The capital of France is", "One, two, three, four,", "My name is", "今天的天气很好,"):
                written = logprobs(text, echo=False)
                token = written["tokens"][0]
                whole = logprobs(text + token, echo=True)
                echoed = continuation_logprobs(whole, text, token)
                echoes[text + token] = whole["logprobs"][:-1]
                # A token without text, or read as part of another or as several, cannot be compared.
                if token and len(echoed) == 1 and echoed[0] is not None:
                    differences.append(abs(echoed[0] - written["logprobs"][0]))
            shuffled = list(echoes)
            random.Random(1).shuffle(shuffled)
            for text in shuffled:
                again = logprobs(text, echo=True)["logprobs"][:-1]
                pairs = zip(echoes[text], again, strict=True)
                differences += [abs(one - other) for one, other in pairs if one is not None and other is not None]
        except (openai.OpenAIError, ValueError, LookupError) as error:
            raise UserError(
                f"{self.where} returns no log-probabilities of a prompt ({shown(str(error), self.entry)}). "
                "Set `prompt_logprobs: false`."
            ) from None
        if not differences or not max(differences) < MAX_DIFFERENCE_NATS:
            raise UserError(
                f"{self.where}: log-probabilities of a prompt differ from those of writing, or from those of another "
                f"time, by {max(differences, default=math.nan):.3f} nats on a known text, so they cannot be trusted. "
                "Set `prompt_logprobs: false`."
            )
