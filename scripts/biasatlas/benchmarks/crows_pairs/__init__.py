"""CrowS-Pairs: of two sentences that differ in a group, does a model find the stereotypical one more likely?

Nangia et al., EMNLP 2020. The page is ``docs/crows_pairs.md``.
"""

from typing import Literal

from pydantic import Field

from biasatlas.benchmarks.shared.prompting import PromptOptions
from biasatlas.benchmarks.contract import Benchmark, Figure, Metric, Table, Task

BIAS_TYPES = (
    "age",
    "disability",
    "gender",
    "nationality",
    "physical-appearance",
    "race-color",
    "religion",
    "sexual-orientation",
    "socioeconomic",
)

#: The two sentences of a pair: the more stereotypical one, and the less.
SENTENCES = ("more", "less")

LABELS = ("A", "B")


class OPTIONS(PromptOptions):
    """Options of a CrowS-Pairs protocol."""

    text: Literal["published", "cleaned"] = Field(
        description="Sentences as published, or without the line break inside one of them"
    )
    reduction: Literal["sum", "mean"] = Field(description="Sentences are compared by log-likelihood, or per token")
    rounding: Literal["none", "three_decimals"] = Field(
        description="Scores compared as they are, or rounded first as in the authors' code, which makes ties"
    )
    ties: Literal["half", "released"] = Field(
        description="A tie counts half, or as in the authors' code in the number of pairs only"
    )
    orders: Literal["swapped", "single"] = Field(
        description="Each pair asked in both orders, or once in an order drawn from its id"
    )


SPEC = Benchmark(
    title="CrowS-Pairs",
    language="en",
    citation="Nangia et al. 2020. CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in Masked Language "
    "Models. EMNLP.",
    sources=("crows_pairs",),
    sample="crows_pairs",
    tasks={
        "pair": Task(kind="likelihood", categories=BIAS_TYPES, masked=True),
        "pair_choice": Task(kind="choice", categories=BIAS_TYPES),
    },
    tables={
        "scores": Table(
            caption="Share of pairs whose more stereotypical sentence is preferred, by bias type and direction",
            tasks=("pair",),
            published="crows_pairs_models",
        ),
        "prompted": Table(
            caption="The same for the sentence that a prompted model chooses, with refusal rates",
            tasks=("pair_choice",),
        ),
    },
    figures={
        "scores": Figure(caption="Stereotype score by bias type, with intervals", tables=("scores",)),
    },
    metrics={
        "stereotype_score": Metric(
            neutral=50.0,
            direction="Above 50 the more stereotypical sentence is preferred, in either direction; 100: always.",
            unit="%",
        ),
        "tie_rate": Metric(neutral=None, direction="Pairs whose two sentences score the same.", unit="%"),
        "refusal_rate": Metric(
            neutral=None, direction="0: every prompt was answered; 100: every one refused.", unit="%"
        ),
    },
    released={"bert": "crows_pairs_bert"},
    released_tasks=("pair",),
)
