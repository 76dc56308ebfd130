"""Options of a StereoSet protocol."""

from typing import Literal

from biasatlas.benchmarks.shared.prompting import PromptOptions
from biasatlas.marks import field


class StereoSetOptions(PromptOptions):
    """How an item is asked, and how its three sentences are compared."""

    reduction: Literal["mean", "sum"] = field(
        "scores", description="Sentences are compared by log-likelihood per token, or by its sum"
    )
    ties: Literal["half", "released"] = field(
        "scores",
        description="An equal pair counts half to each side, or as in the authors' code: anti-stereotype, and unrelated",
    )
    orders: Literal["rotated", "single"] = field(
        "answers",
        description="Each item asked in three rotations of its options, or once in an order drawn from its id",
    )
