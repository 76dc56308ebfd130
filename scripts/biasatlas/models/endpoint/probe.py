"""The other end, before it is used: is it there, does it know us and the model, are its log-probabilities the model's."""

import logging
import math

import httpx2
import openai

from biasatlas.errors import UserError
from biasatlas.models.endpoint.calls import LENGTH, PATHS, echo_body
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.errors import api_key, fatal, redact_key
from biasatlas.models.endpoint.replies import continuation_logprobs, read_reply

log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it has a line for every request

#: Half precision and another batch move a token's log-probability by less than this.
MAX_DIFFERENCE_NATS = 0.1

_CHECK_TIMEOUT_S = 10


def check(entry: ApiEntry) -> None:
    """Raise UserError within seconds if ``entry`` cannot work: no key, unreachable, wrong key, unknown model.

    Asks for the endpoint's list of models, which costs nothing; only where the model is not on it, for one token.
    """
    names: set[str] = set()
    with openai.OpenAI(
        api_key=api_key(entry), base_url=entry.base_url, timeout=_CHECK_TIMEOUT_S, max_retries=2
    ) as client:
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
                f"{entry.base_url} cannot be reached ({redact_key(str(error.__cause__ or error), entry)}): is "
                "`base_url` right, and is the endpoint up?"
            ) from None


def _models(client: openai.OpenAI) -> set[str]:
    """The names that the endpoint lists; empty if it lists none (not every one does)."""
    try:
        return {model["id"] for model in client.get("/models", cast_to=httpx2.Response).json()["data"]}
    except (openai.NotFoundError, openai.InternalServerError, openai.RateLimitError, ValueError, KeyError, TypeError):
        return set()


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
                    f"{where} returns no log-probabilities of a prompt ({redact_key(str(error), entry)}). "
                    "Set `prompt_logprobs: false`."
                ) from None
            # A token without text, or read as part of another or as several, says nothing.
            if token and len(echoed) == 1 and echoed[0] is not None:
                differences.append(abs(echoed[0] - written["logprobs"][0]))
    if not differences or not max(differences) < MAX_DIFFERENCE_NATS:
        raise UserError(
            f"{where}: log-probabilities of a prompt differ from those of writing by "
            f"{max(differences, default=math.nan):.3f} nats on a known text, so they cannot be trusted. "
            "Set `prompt_logprobs: false`."
        )
