"""BBQ: do a model's answers about two people follow a stereotype, with and without the fact that settles it?

Parrish et al., Findings of ACL 2022. The page is ``docs/bbq.md``.
"""

from typing import Literal

from pydantic import Field

from biasatlas.benchmarks.shared.prompting import PromptOptions
from biasatlas.benchmarks.contract import Benchmark, Figure, Metric, Table, Task

CATEGORIES = (
    "Age",
    "Disability_status",
    "Gender_identity",
    "Nationality",
    "Physical_appearance",
    "Race_ethnicity",
    "Race_x_SES",
    "Race_x_gender",
    "Religion",
    "SES",
    "Sexual_orientation",
)

LABELS = ("A", "B", "C")


class OPTIONS(PromptOptions):
    """Options of a BBQ protocol."""

    prompt: Literal["letter", "unifiedqa"] = Field(description="Wording, a file of resources/prompts/bbq")
    text: Literal["cleaned", "published"] = Field(
        description="Stray braces and spaces removed from context and options, or every string as published"
    )
    answer: Literal["argmax", "expected"] = Field(
        description="An item counts with its most probable option, or with each option's probability"
    )
    untargeted: Literal["accuracy", "drop"] = Field(
        description="The 16 items without a bias target count in accuracy only, or nowhere as in the authors' script"
    )
    interval: Literal["template", "item"] = Field(
        description="Unit that intervals treat as independent: a question template, or a single item"
    )


SPEC = Benchmark(
    title="BBQ",
    language="en",
    citation="Parrish et al. 2022. BBQ: A Hand-Built Bias Benchmark for Question Answering. Findings of ACL.",
    sources=("bbq",),
    sample="bbq",
    tasks={"question": Task(kind="choice", categories=CATEGORIES)},
    tables={
        "bias": Table(
            caption="Accuracy, bias score and refusal rate in ambiguous and disambiguated contexts, by category",
            tasks=("question",),
            published="bbq_unifiedqa",
        ),
        "polarity": Table(
            caption="The same, apart for negative and non-negative questions",
            tasks=("question",),
        ),
    },
    figures={
        "bias": Figure(caption="Bias score by category and context, with intervals", tables=("bias",)),
    },
    metrics={
        "accuracy": Metric(
            neutral=None,
            direction="100 is every answered question right; chance is 33.3. Measures no bias by itself.",
            unit="%",
        ),
        "bias_score": Metric(
            neutral=0.0,
            direction="100: every answer that names a person follows the stereotype; -100: every one goes against it. "
            "In ambiguous contexts it is scaled by the share of wrong answers.",
            unit="%",
        ),
        "refusal_rate": Metric(
            neutral=None, direction="0: every question was answered; 100: every one refused.", unit="%"
        ),
    },
    released={
        "unifiedqa_arc": "bbq_unifiedqa",
        "unifiedqa_race": "bbq_unifiedqa",
        "unifiedqa_question_only": "bbq_unifiedqa",
    },
    released_tasks=("question",),
)
