"""Protocol options that every benchmark with prompted choices shares."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SAMPLING = ("temperature", "top_p", "top_k", "repetition_penalty", "frequency_penalty", "max_tokens", "repeats")


class PromptOptions(BaseModel):
    """How a choice is asked, and how an answer is drawn from a model that gives no probabilities."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layout: Literal["chat", "plain"] = Field(description="The prompt as a user message, or as raw text to continue")
    temperature: float = Field(ge=0, description="Sampling temperature")
    top_p: float = Field(gt=0, le=1, description="Nucleus sampling mass")
    top_k: int = Field(ge=0, description="Tokens kept in sampling; 0 keeps all")
    repetition_penalty: float = Field(gt=0, description="1 is none")
    frequency_penalty: float = Field(description="0 is none")
    max_tokens: int = Field(gt=0, description="Longest answer, in tokens")
    repeats: int = Field(gt=0, description="Answers sampled from a model that gives no probabilities")
