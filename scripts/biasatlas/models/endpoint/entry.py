"""An endpoint's entry in the configuration, what the kind ``api`` can do, and what the check of an endpoint found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError, ValidationInfo, field_validator, model_validator

from biasatlas.errors import UserError
from biasatlas.models.endpoint import VERSION
from biasatlas.models.endpoint.services import services
from biasatlas.models.entry import THINKING, Entry, SamplingSettings, Thinks, lacks_setting
from biasatlas.models.interface import Kind
from biasatlas.stages import field
from biasatlas.validation import masked, nearest

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec


class ApiEntry(Entry):
    """An OpenAI-compatible endpoint, as the model under test, a judge or a writer."""

    kind: Literal["api"] = field("tables", description="What the model is.")
    base_url: str = field(
        "answers",
        pattern=r"^https?://[^@?\s]+$",
        description="The endpoint's URL up to and with its version, as https://host/v1.",
    )
    model: str = field("answers", min_length=1, description="The model's name at the endpoint.")
    key_env: str = field(
        "nothing",
        "",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$",
        repr=False,  # a key that is put here by mistake is never shown
        description="Name of the environment variable that holds the key (never the key itself); empty: no key.",
    )
    service: str = field(
        "answers",
        "",
        description="The service behind `base_url`, where a gateway hides it, as `openai` or `gemini`: what an error means "
        "differs between them. Empty: the one whose host it is.",
    )
    dialect: str = field(
        "answers",
        "compatible",
        description="Which settings the endpoint knows and how it spells them: `compatible` takes max_tokens; `openai` "
        "max_completion_tokens; `reasoning` (OpenAI's and Azure's models that think) that, and no sampling settings; "
        "`anthropic`, `gemini`, `glm` and `mistral` lack some; `vllm` (SGLang too) and `llama.cpp` have top-k and a repetition penalty.",
    )
    system: Literal["separate", "user"] = field(
        "answers",
        "separate",
        description="Where a system message goes: `separate`, as it is, or `user`, in front of the first user message "
        "(for models that know no system role).",
    )
    extra_body: dict[str, Any] = field(
        "answers", {}, description="Further fields of every request body, as a switch that turns reasoning off."
    )
    thinking: Thinks = field("answers", None, description=THINKING)
    top_logprobs: int = field(
        "answers",
        0,
        ge=0,
        description="How many top log-probabilities the endpoint returns for a token; above 0 a `choice` is read from "
        "those of the first token instead of sampled.",
    )
    prompt_logprobs: bool = field(
        "answers",
        False,
        description="Whether the endpoint's `completions` return log-probabilities of the prompt's own tokens "
        "(`echo`), which `likelihood` needs; the numbers are checked on known text first.",
    )
    n: int | None = field(
        "nothing",
        None,
        ge=1,
        le=128,
        description="The most repeats to ask for in one call (the parameter `n`), which pays for the prompt once; empty: as "
        "many as the check of the endpoint finds that it gives.",
    )
    requests_per_minute: float | None = field(
        "nothing",
        None,
        gt=0,
        description="The endpoint's limit in requests per minute, over all jobs of a user; empty: none.",
    )
    tokens_per_minute: float | None = field(
        "nothing",
        None,
        gt=0,
        description="The endpoint's limit in tokens per minute (prompt and requested completion), over all jobs of "
        "a user; empty: none.",
    )
    concurrency: int = field(
        "nothing",
        8,
        ge=1,
        le=256,
        description="The most requests in flight at the endpoint at once, over all jobs of a user.",
    )
    timeout_s: float = field(
        "nothing", 120, gt=0, description="The longest that one request may take, in seconds, its whole body included."
    )
    attempts: int = field(
        "nothing", 10, ge=1, description="How often a request is sent before it is recorded as failed."
    )
    max_failed_share: float = field(
        "nothing", 0.01, ge=0, le=1, description="Share of a job's requests that may fail before the job does (0 to 1)."
    )
    price_input_per_million: float = field(
        "nothing",
        0,
        ge=0,
        description="Price of a million prompt tokens, in `currency` (with `batch`, the batch price).",
    )
    price_output_per_million: float = field(
        "nothing", 0, ge=0, description="Price of a million completion tokens, in `currency`."
    )
    currency: str = field(
        "nothing", "USD", pattern="^[A-Z]{3}$", description="Currency of prices and budget (ISO 4217)."
    )
    budget: float | None = field(
        "nothing",
        None,
        ge=0,
        description="The most that this model may cost in all, in `currency`, over all jobs and runs with the same results "
        "folder; empty: no limit.",
    )
    batch: bool = field(
        "nothing",
        False,
        description="Whether requests go through the endpoint's Batch API (slower, often half the price).",
    )
    sampling: dict[str, SamplingSettings] = field(
        "answers", {}, description="Sampling settings, by the name protocols use."
    )
    without: list[Literal["top_k", "repetition_penalty", "frequency_penalty"]] = field(
        "answers",
        [],
        description="Settings that the service does not have and that are left out where a protocol asks for them, in place "
        "of the request; tables and the report say so.",
    )

    @property
    def deviation(self) -> str:
        """What is asked otherwise than protocols say, in words; '' where nothing is."""
        return f"asked without {' and '.join(self.without)}" if self.without else ""

    @field_validator("base_url")
    @classmethod
    def _one_spelling(cls, url: str) -> str:
        """Without a slash at the end: it is the same endpoint, and its answers are the same."""
        return url.rstrip("/")

    @field_validator("service", "dialect")
    @classmethod
    def _known(cls, name: str, info: ValidationInfo) -> str:
        """Refuse what ``resources/services.json`` does not list."""
        known = services().dialects if info.field_name == "dialect" else {"": None, **services().services}
        if name not in known:
            raise ValueError(f"{masked(name)!r} is not allowed{nearest(name, filter(None, known))}")
        return name

    @model_validator(mode="after")
    def _within_dialect(self) -> "ApiEntry":
        """Refuse what the dialect never has."""
        dialect = services().dialects[self.dialect]
        if self.top_logprobs > dialect.most_top_logprobs:
            raise ValueError(
                f"top_logprobs: {self.top_logprobs}, and the dialect {self.dialect} has at most {dialect.most_top_logprobs}"
            )
        if self.batch and not dialect.batch:
            raise ValueError(f"batch: the dialect {self.dialect} has no Batch API; leave it out")
        return self

    @field_validator("key_env")
    @classmethod
    def _no_key(cls, name: str) -> str:
        """Refuse what looks like the key itself."""
        if masked(name) != name:
            raise ValueError("looks like a key; put the key into an environment variable, and the variable's name here")
        return name


@dataclass(frozen=True)
class Found:
    """What the check of an endpoint found.

    ``n`` is how many answers it gives in one call (1: it takes no ``n``). ``samples``: whether equal calls at temperature
    1 are answered differently. ``seed``: whether that takes a seed. ``served_model`` is the name it answers under.
    """

    n: int = 1
    samples: bool = True
    seed: bool = False
    served_model: str = ""


def service_of(entry: ApiEntry) -> str:
    """The name of the service behind an ``entry``; '' where it is not known."""
    return entry.service or services().named(entry.base_url)


def read_found(ready: Sequence[Path]) -> Found | None:
    """What an earlier check wrote, from the file among those that are ``ready``; None where there was none.

    Raises UserError for what is no such file.
    """
    path = next((path for path in ready if path.suffix == ".checked" and path.stat().st_size), None)
    if path is None:
        return None
    try:
        return TypeAdapter(Found).validate_json(path.read_bytes())
    except ValidationError:
        raise UserError(f"{path}: not a valid endpoint-check file. Remove it and run again.") from None


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
