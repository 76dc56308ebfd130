"""Options that every protocol with prompted choices shares."""

from typing import Any, Literal

from biasatlas.benchmarks.contract import Options
from biasatlas.marks import field

#: Options that are columns of a request, too.
SAMPLING = ("temperature", "top_p", "top_k", "repetition_penalty", "frequency_penalty", "max_tokens", "repeats")


class PromptOptions(Options):
    """How a choice is asked, and how an answer is drawn from a model that gives no probabilities."""

    layout: Literal["chat", "plain"] = field(
        "answers", description="The prompt as a user message, or as raw text to continue"
    )
    temperature: float = field("answers", ge=0, description="Sampling temperature")
    top_p: float = field("answers", gt=0, le=1, description="Nucleus sampling: the probability mass that is sampled from")
    top_k: int = field("answers", ge=0, description="Top-k: sample from the k most likely tokens; 0 disables")
    repetition_penalty: float = field("answers", gt=0, description="Repetition penalty; 1 disables")
    frequency_penalty: float = field("answers", description="Frequency penalty; 0 disables")
    max_tokens: int = field("answers", gt=0, description="Longest answer, in tokens")
    repeats: int = field("answers", gt=0, description="Answers sampled from a model that gives no probabilities")


def sampling(options: Any) -> dict[str, float | int]:
    """The sampling settings of ``options`` as columns of a request."""
    return {name: getattr(options, name) for name in SAMPLING}
