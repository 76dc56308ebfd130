"""What benchmarks that ask in words share: options of protocols, and columns of requests."""

from collections.abc import Mapping
from typing import Literal

from biasatlas.benchmarks.contract import Options
from biasatlas.stages import field

#: Columns of requests that ask in a chat through the model's own template, and leave its distribution as it is.
CHAT: Mapping[str, object] = {
    "prefix": "",
    "template": "tokenizer",
    "special_tokens": "once",
    "top_p": 1.0,
    "top_k": 0,
    "repetition_penalty": 1.0,
    "frequency_penalty": 0.0,
}


class SamplingOptions(Options):
    """How answers are drawn; each is a column of a request, too."""

    temperature: float = field("answers", ge=0, description="Sampling temperature")
    top_p: float = field(
        "answers", gt=0, le=1, description="Nucleus sampling: the probability mass that is sampled from"
    )
    top_k: int = field("answers", ge=0, description="Top-k: sample from the k most likely tokens; 0 disables")
    repetition_penalty: float = field("answers", gt=0, description="Repetition penalty; 1 disables")
    frequency_penalty: float = field("answers", ge=-2, le=2, description="Frequency penalty; 0 disables")
    max_tokens: int = field("answers", gt=0, le=131_072, description="Longest answer, in tokens")
    repeats: int = field(
        "answers", gt=0, le=10_000, description="Answers sampled from a model that gives no probabilities"
    )


class PromptOptions(SamplingOptions):
    """How a choice is asked, and how an answer is drawn from a model that gives no probabilities."""

    layout: Literal["chat", "plain"] = field(
        "answers", description="The prompt as a user message, or as raw text to continue"
    )


class ReadOptions(PromptOptions):
    """How a reply is parsed, too, for families of which some authors say how they did it."""

    parser: Literal["whole", "beginning"] = field(
        "answers",
        description="The option that a reply gives as its answer, however it says so; or the one that it begins with, "
        "else the only one in brackets, quotation marks or asterisks",
    )
