"""Options of a CrowS-Pairs protocol."""

from typing import Literal

from biasatlas.benchmarks.shared.prompting import PromptOptions
from biasatlas.marks import field


class CrowSPairsOptions(PromptOptions):
    """How a pair is asked, and how its two sentences are compared."""

    text: Literal["published", "cleaned"] = field(
        "answers", description="Sentences as published, or without the line break inside one of them"
    )
    reduction: Literal["sum", "mean"] = field(
        "scores", description="Sentences are compared by log-likelihood, or by log-likelihood per token"
    )
    rounding: Literal["none", "three_decimals"] = field(
        "scores", description="Scores compared as they are, or rounded first as in the authors' code, which makes ties"
    )
    ties: Literal["half", "released"] = field(
        "scores", description="A tie counts half, or as in the authors' code in the number of pairs only"
    )
    orders: Literal["swapped", "single"] = field(
        "answers", description="Each pair asked in both orders, or once in an order drawn from its id"
    )
