"""An endpoint's entry in the configuration, and what the kind ``api`` can do."""

import json
import os
import re
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pydantic import ValidationInfo, field_validator, model_validator

from biasatlas.errors import UserError
from biasatlas.models.endpoint import VERSION, services
from biasatlas.models.entry import THINKING, Entry, SamplingSettings, Thinks, lacks_setting, refuse_both, turned_off
from biasatlas.models.interface import Kind
from biasatlas.stages import field
from biasatlas.validation import masked, nearest

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec


#: Why `extra_body` may not hold some fields -> their names, in lower case.
_NOT_EXTRA = {
    "the key `model` says it": "model models",
    "the request says it": (
        "messages prompt input suffix stop stop_token_ids bad_words system instructions system_instruction "
        "conversation previous_response_id continue_final_message add_generation_prompt "
        "tools functions tool_choice plugins web_search_options"
    ),
    "prompts are sent whole": "truncate_prompt_tokens transforms",
    "replies are read whole, as they come": "stream stream_options background store",
    "a model that may only say what is read cannot refuse": (
        "response_format structured_outputs grammar json_schema guided_choice guided_json guided_regex guided_grammar"
    ),
    "the key `n`, and the protocol's repeats, say it": "n best_of n_cmpl num_choices",
    "the protocol says it, or the model's `sampling`": (
        "temperature top_p top_k min_p seed random_seed frequency_penalty presence_penalty repetition_penalty "
        "repeat_penalty logit_bias ignore_eos use_beam_search length_penalty no_repeat_ngram_size "
        "typical_p top_a tfs_z mirostat dynatemp_range xtc_probability dry_multiplier"
    ),
    "the protocol says how long an answer may be, and `thinking` how long its thinking": (
        "max_tokens max_completion_tokens max_output_tokens max_new_tokens max_tokens_to_sample "
        "n_predict num_predict max_length min_tokens"
    ),
    "the keys `top_logprobs` and `prompt_logprobs` say it": "logprobs top_logprobs prompt_logprobs echo n_probs",
    "a key has `key_env`": "api_key authorization key",
    "what is in it stands here itself": "extra_body",
}

#: Headers that every call has, in lower case.
_OWN_HEADERS = (
    "connection accept-encoding accept content-type content-length content-encoding host transfer-encoding te upgrade "
    "proxy-connection expect user-agent trailer keep-alive range if-range if-match if-none-match if-modified-since "
    "if-unmodified-since prefer x-http-method x-http-method-override x-method-override"
)


class ApiEntry(Entry):
    """An OpenAI-compatible endpoint ([api.md](api.md)), as the model under test, a judge or a writer."""

    kind: Literal["api"] = field("answers", description="How the model is reached; its other keys depend on it.")
    base_url: str = field(
        "answers",
        pattern=r"^https?://[^@?\s]+$",
        description="The endpoint's URL up to the version, such as https://host/v1.",
    )
    model: str = field(
        "answers", min_length=1, pattern=r"^\S+( \S+)*$", description="The model's name at the endpoint."
    )
    key_env: str = field(
        "nothing",
        "",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$",
        repr=False,  # a key that is put here by mistake is never shown
        description="Environment variable that holds the key, such as `MY_KEY` (never the key itself). Default: "
        "no key.",
    )
    service: str = field(
        "answers",
        "",
        description="Behind a gateway: the service whose errors to expect, `openai` or `gemini`. Default: inferred "
        "from the host name.",
    )
    dialect: str = field(
        "answers",
        "compatible",
        description="How the endpoint names settings, and which it has. `vllm` (also SGLang), `llama.cpp`: all. Others "
        "lack top-k and repetition penalty; `gemini`, `glm` also frequency penalty; `anthropic` frequency penalty and "
        "top-p; `reasoning` those and temperature. `openai`, `reasoning` use `max_completion_tokens`. Highest "
        "temperature: `mistral` 1.5; `glm`, `anthropic` 1.",
    )
    system: Literal["separate", "user"] = field(
        "answers",
        "separate",
        description="`user` puts the system message in front of the first user message, for a model without a "
        "system role.",
    )
    extra_body: dict[str, Any] = field(
        "answers",
        {},
        description="Further fields of each call, such as `{reasoning_effort: low}`. What the workflow sets "
        "(model, messages, lengths, sampling, `n`, log-probabilities) can't be set here.",
    )
    extra_headers: dict[str, str] = field(
        "nothing",
        {},
        repr=False,
        description="Further headers of each call, such as a gateway's. For the key use `key_env`.",
    )
    insecure: bool = field(
        "nothing",
        False,
        description="Allow the key to be sent over `http://` to another machine, where others can read it.",
    )
    changed_model: Literal["warn", "stop"] = field(
        "nothing",
        "warn",
        description="What to do if replies come from another model than `model`: `warn`, or `stop` the job. A "
        "date or version at the end of the name doesn't matter.",
    )
    thinking: Thinks = field("answers", None, description=THINKING)
    top_logprobs: int = field(
        "answers",
        0,
        ge=0,
        description="How many log-probabilities to ask for per token, such as `20`. Above 0, choices are read "
        "from those of the first token; otherwise they are sampled.",
    )
    prompt_logprobs: bool = field(
        "answers",
        False,
        description="Whether `completions` with `echo` returns log-probabilities of the prompt, which tasks by "
        "likelihood need. The check before a run tests them.",
    )
    n: int | None = field(
        "nothing",
        None,
        ge=1,
        le=128,
        description="Maximum answers per call, so that the prompt is paid for once. Default: as many as the "
        "check finds possible.",
    )
    requests_per_minute: float | None = field(
        "nothing",
        None,
        ge=0.01,
        description="The endpoint's limit for all your jobs together. Default: none.",
    )
    tokens_per_minute: float | None = field(
        "nothing",
        None,
        ge=1,
        description="The same for tokens of prompts and requested answers.",
    )
    concurrency: int = field(
        "nothing",
        8,
        ge=1,
        le=256,
        description="Maximum calls in flight, of all your jobs together.",
    )
    timeout_s: float = field(
        "nothing",
        120,
        ge=0.1,
        le=86_400,
        description="Maximum seconds for a call, until its whole reply is there.",
    )
    attempts: int = field(
        "nothing", 10, ge=1, le=100, description="Maximum attempts at a call before it is recorded as failed."
    )
    max_failed_share: float = field(
        "nothing",
        0.01,
        ge=0,
        le=1,
        description="Share of a job's calls that may fail; with more, the job fails.",
    )
    prices: Literal["known", "free"] | None = field(
        "nothing",
        None,
        description="`known`: those of the package genai-prices, in USD; `free`: no cost. Default: the two "
        "prices below.",
    )
    price_input_per_million: float = field(
        "nothing",
        0,
        ge=0,
        le=1_000_000,
        description="Price of a million prompt tokens, in `currency`; with `batch`, the batch price.",
    )
    price_output_per_million: float = field(
        "nothing", 0, ge=0, le=1_000_000, description="The same for completion tokens."
    )
    currency: str = field(
        "nothing", "USD", pattern="^[A-Z]{3}$", description="Currency of prices and budget (ISO 4217)."
    )
    budget: float | None = field(
        "nothing",
        None,
        ge=0,
        description="Maximum cost of this model, in `currency`, over all runs with one results folder. With "
        "`effort: rounds`, a larger one may buy more rounds. Default: no limit.",
    )
    batch: bool = field(
        "nothing",
        False,
        description="Send calls through the Batch API: slower, often at half the price.",
    )
    sampling: dict[str, SamplingSettings] = field(
        "answers",
        {},
        description="Sampling settings by name, for protocols that need them, such as `{table8: {temperature: "
        "0.7}}` for McBE.",
    )
    without: list[Literal["temperature", "top_p", "top_k", "repetition_penalty", "frequency_penalty"]] = field(
        "answers",
        [],
        description="Settings to leave out because the service lacks them, such as `[top_p]`. Tables and the "
        "report say so if a protocol asks for one.",
    )

    @property
    def deviation(self) -> str:
        """How requests deviate from protocols, in words; '' if they do not."""
        return f"asked without {' and '.join(self.without)}" if self.without else ""

    @property
    def where(self) -> str:
        """The model and its endpoint, as messages name them."""
        return f"{self.model} at {self.base_url}"

    @property
    def is_priced(self) -> bool:
        """Whether it is known what its calls cost."""
        return bool(self.prices or self.price_input_per_million or self.price_output_per_million)

    @field_validator("base_url")
    @classmethod
    def _one_spelling(cls, url: str) -> str:
        """The URL without a slash at its end, so one endpoint has one spelling. Refuse what is no endpoint's URL."""
        if (end := re.search(r"/((chat/)?completions|chat|responses|messages|embeddings|models)/?$", url)) is not None:
            raise ValueError(f"ends with {end[0]}, which is added to each call; end it with the version, as /v1")
        try:
            parts = urlsplit(url)
            is_url = bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_url = False
        host = r"(\[[0-9a-f:.]+\]|[\w-]+(\.[\w-]+)*\.?)"
        if not is_url or not re.fullmatch(rf"https?://{host}(:\d+)?(/[\w.~:+=,/-]*)?", url, re.ASCII) or "/.." in url:
            raise ValueError(
                "is not a URL of an endpoint: it needs a host, perhaps a port (1 to 65535), and a path, as "
                "https://host/v1, all of it written out in ASCII"
            )
        return url.rstrip("/")

    @field_validator("extra_body")
    @classmethod
    def _only_further(cls, body: dict[str, Any]) -> dict[str, Any]:
        """Refuse fields that a request or another key sets, and values that JSON cannot hold."""
        for name in body:
            for why, names in _NOT_EXTRA.items():
                if name.strip().lower() in names.split():
                    raise ValueError(f"{name!r} may not stand here: {why}")
        try:
            text = json.dumps(body, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                "holds a value that JSON has not: a date, a not-a-number or an infinity; put it in quotes"
            ) from None
        if "" in body or masked(text) != text:
            raise ValueError("holds a field without a name, or what looks like a key; a key has `key_env`")
        return body

    @field_validator("extra_headers")
    @classmethod
    def _no_secrets(cls, headers: dict[str, str]) -> dict[str, str]:
        """Refuse headers that calls set themselves or that may hold a key, duplicates, and what is no header."""
        if len({name.lower() for name in headers}) < len(headers):
            raise ValueError("names that differ by case alone are one header; keep one of them")
        for name, value in headers.items():
            may_be_key = re.search("auth|api-?key|token|secret|cookie", name, re.IGNORECASE)
            if may_be_key or name.lower() in _OWN_HEADERS.split():
                raise ValueError(
                    f"{name!r} may not stand here: a key has `key_env`, and calls set their other headers themselves"
                )
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not (value.isascii() and value.isprintable()):
                raise ValueError(
                    f"{name!r} is not a header: a name of letters, digits and '-', and a value in ASCII on one line"
                )
            if masked(value) != value:
                raise ValueError(f"the value of {name!r} looks like a key; a key has `key_env`")
        return headers

    @field_validator("service", "dialect")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        """Refuse what ``resources/services.json`` does not list."""
        known = services().dialects if info.field_name == "dialect" else {"": None, **services().services}
        if name not in known:
            raise ValueError(f"{masked(name)!r} is not allowed{nearest(name, filter(None, known))}")
        return name

    @model_validator(mode="before")
    @classmethod
    def _told_not_to_think(cls, entry: Any) -> Any:
        dialect = entry.get("dialect", "compatible") if isinstance(entry, dict) else None
        known = services().dialects.get(str(dialect))
        told = turned_off(entry, "extra_body", (known and known.no_thinking) or {})
        if known and known.no_thinking is None and told is not entry:
            raise ValueError(
                f"thinking: the dialect {dialect} has nothing that turns it off; write `none`, and put what this model "
                "takes into `extra_body`"
            )
        return told

    @model_validator(mode="after")
    def _within_dialect(self) -> "ApiEntry":
        """Refuse what the dialect does not support."""
        dialect = services().dialects[self.dialect]
        if self.thinking and self.thinking.how == "body":
            refuse_both("extra_body", self.extra_body, dialect.thinking)
        if self.top_logprobs > dialect.most_top_logprobs:
            most = dialect.most_top_logprobs
            raise ValueError(f"top_logprobs: {self.top_logprobs}, and the dialect {self.dialect} has at most {most}")
        if self.batch and not dialect.batch:
            raise ValueError(f"batch: the dialect {self.dialect} has no Batch API; leave it out")
        return self

    @model_validator(mode="after")
    def _spent_as_known(self) -> "ApiEntry":
        """Refuse a budget that nothing counts against, and prices that are given twice."""
        if self.budget is not None and (not self.is_priced or self.prices == "free"):
            raise ValueError(
                "budget: nothing would count against it: give price_input_per_million and price_output_per_million, "
                "or `prices: known`"
            )
        given = {"price_input_per_million", "price_output_per_million"} & self.model_fields_set
        if tokens := [name for name in sorted(given) if 0 < getattr(self, name) < 0.001]:
            raise ValueError(f"{tokens[0]}: {getattr(self, tokens[0]):g} is a price of one token; give a million's")
        if self.budget is not None and len(given) == 1:
            raise ValueError(f"budget: {given.pop()} alone is given; give both prices, since both are paid")
        if self.prices and (self.price_input_per_million or self.price_output_per_million):
            raise ValueError(f"prices: {self.prices}, and prices are given, too; keep one of them")
        if self.prices == "known" and self.currency != "USD":
            raise ValueError(f"prices: known prices are in USD, not in {self.currency}; leave `currency` out")
        return self

    @model_validator(mode="after")
    def _key_is_safe(self) -> "ApiEntry":
        """Refuse to send a key in clear text to another machine."""
        host = urlsplit(self.base_url).hostname or ""
        here = re.fullmatch(r"localhost|::1|127(\.\d{1,3}){3}", host)
        if self.key_env and self.base_url.startswith("http://") and not here and not self.insecure:
            raise ValueError(
                f"base_url: the key in {self.key_env} would go to {host} in clear text; use https://, or set "
                "`insecure: true` where nobody else is on the way"
            )
        return self

    @field_validator("model", "extra_headers")
    @classmethod
    def _written_out(cls, value: str | dict[str, str]) -> str | dict[str, str]:
        """Refuse shell variables: nothing fills them in."""
        if "${" in str(value):
            raise ValueError(f"{masked(str(value))!r}: no variable is filled in here; write out what it stands for")
        return value

    @field_validator("key_env")
    @classmethod
    def _no_key(cls, name: str) -> str:
        """Refuse what looks like the key itself."""
        if masked(name) != name:
            raise ValueError("looks like a key; put the key into an environment variable, and the variable's name here")
        return name


def api_key(entry: ApiEntry) -> str:
    """The key from the environment variable that ``entry`` names; raises UserError if that is unset or empty."""
    if not entry.key_env:
        return "none"
    key = os.environ.get(entry.key_env, "").strip()
    if key and key.isascii() and key.isprintable():
        return key
    raise UserError(
        f"{entry.where}: the environment variable {entry.key_env} (`key_env`) "
        f"{'holds characters that no key has' if key else 'is not set'}. Put the key there: export {entry.key_env}=..."
    )


def service_of(entry: ApiEntry) -> str:
    """The name of the service behind an ``entry``; '' if it is not known."""
    return entry.service or services().named(entry.base_url)


def _tasks(entry: ApiEntry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    return tuple(name for name, task in spec.tasks.items() if entry.prompt_logprobs or task.kind != "likelihood")


KIND = Kind(
    entry=ApiEntry,
    open="biasatlas.models.endpoint.answer:open_endpoint",
    check="biasatlas.models.endpoint.capability_check:check_model",
    preview="biasatlas.models.endpoint.calls:preview",
    tasks=_tasks,
    ready=lambda entry: "",
    environment=lambda entry: "api",
    writes=True,
    version=VERSION,
    lacks=lambda entry, setting: setting.startswith("sampling.") and lacks_setting(entry, setting),
    shared_store=True,
    calls_api=True,
)
