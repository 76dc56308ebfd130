"""An API model's entry in the configuration; light to import, so that planning stays fast."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class ApiEntry(BaseModel):
    """An OpenAI-compatible endpoint as a model: under test, as a judge, or as the writer of a dataset."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str = Field(
        pattern=r"^https?://[^@?\s]+$", description="The endpoint's URL up to and with its version, as https://host/v1."
    )
    model: str = Field(min_length=1, description="The model's name at the endpoint.")
    key_env: str = Field(
        default="",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$|^$",
        description="Name of the environment variable that holds the key (never the key itself); empty: no key.",
    )
    dialect: Literal["openai", "compatible", "vllm", "llama.cpp"] = Field(
        default="compatible",
        description="Which settings the endpoint knows and how it spells them: `openai` takes max_completion_tokens; "
        "`compatible` max_tokens; `vllm` (SGLang too) and `llama.cpp` also top-k and a repetition penalty.",
    )
    system: Literal["separate", "user"] = Field(
        default="separate",
        description="Where a system message goes: `separate`, as it is, or `user`, in front of the first user message "
        "(for models that know no system role).",
    )
    extra_body: dict[str, Any] = Field(
        default={}, description="Further fields of every request body, as a switch that turns reasoning off."
    )
    top_logprobs: int = Field(
        default=0,
        ge=0,
        description="How many top log-probabilities the endpoint returns for a token; above 0 a `choice` is read from "
        "those of the first token instead of sampled.",
    )
    prompt_logprobs: bool = Field(
        default=False,
        description="Whether the endpoint's `completions` return log-probabilities of the prompt's own tokens "
        "(`echo`), which `likelihood` needs; the numbers are checked on known text first.",
    )
    requests_per_minute: float | None = Field(
        default=None, gt=0, description="The endpoint's limit in requests per minute, over all jobs; empty: none."
    )
    tokens_per_minute: float | None = Field(
        default=None,
        gt=0,
        description="The endpoint's limit in tokens per minute (prompt and requested completion), over all jobs; "
        "empty: none.",
    )
    concurrency: int = Field(
        default=8, ge=1, le=256, description="The most requests in flight at the endpoint at once, over all jobs."
    )
    timeout_s: float = Field(
        default=120, gt=0, description="The longest that one request may take, in seconds, its whole body included."
    )
    attempts: int = Field(default=10, ge=1, description="How often a request is sent before it is recorded as failed.")
    max_failed_share: float = Field(
        default=0.01, ge=0, le=1, description="Share of a job's requests that may fail before the job does (0 to 1)."
    )
    price_input_per_million: float = Field(
        default=0, ge=0, description="Price of a million prompt tokens, in `currency` (with `batch`, the batch price)."
    )
    price_output_per_million: float = Field(
        default=0, ge=0, description="Price of a million completion tokens, in `currency`."
    )
    currency: str = Field(default="USD", pattern="^[A-Z]{3}$", description="Currency of prices and budget (ISO 4217).")
    budget: float | None = Field(
        default=None,
        ge=0,
        description="The most that this model may cost in all, over all jobs and runs, in `currency`; empty: no limit.",
    )
    batch: bool = Field(
        default=False,
        description="Whether requests go through the endpoint's Batch API (slower, often half the price).",
    )
