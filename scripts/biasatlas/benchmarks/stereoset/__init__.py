"""StereoSet: does a model prefer the stereotypical sentence, and a meaningful one to an unrelated one?

Nadeem et al., ACL 2021. The page is ``docs/stereoset.md``.
"""

from typing import Literal

from pydantic import Field

from biasatlas.benchmarks.shared.prompting import PromptOptions
from biasatlas.benchmarks.contract import Benchmark, Figure, Metric, Table, Task

DOMAINS = ("gender", "profession", "race", "religion")

#: Gold labels of the three sentences of an item; the order of columns everywhere.
SENTENCES = ("stereotype", "anti-stereotype", "unrelated")

LABELS = ("A", "B", "C")


class OPTIONS(PromptOptions):
    """Options of a StereoSet protocol."""

    reduction: Literal["mean", "sum"] = Field(
        description="Sentences are compared by log-likelihood per token, or by its sum"
    )
    ties: Literal["half", "released"] = Field(
        description="An equal pair counts half to each side, or as in the authors' code: anti-stereotype, and unrelated"
    )
    orders: Literal["rotated", "single"] = Field(
        description="Each item asked in three rotations of its options, or once in an order drawn from its id"
    )


_LIKELIHOOD = ("intrasentence", "intersentence")
_PROMPTED = ("intrasentence_choice", "intersentence_choice")

SPEC = Benchmark(
    title="StereoSet",
    language="en",
    citation="Nadeem et al. 2021. StereoSet: Measuring stereotypical bias in pretrained language models. ACL.",
    sources=("stereoset",),
    sample="stereoset",
    tasks={name: Task(kind="likelihood", categories=DOMAINS) for name in _LIKELIHOOD}
    | {name: Task(kind="choice", categories=DOMAINS) for name in _PROMPTED},
    tables={
        "scores": Table(
            caption="Language modelling score, stereotype score and ICAT by task and domain: means over target terms",
            tasks=_LIKELIHOOD,
            published="stereoset_models",
        ),
        "prompted": Table(
            caption="The same for the sentence that a prompted model chooses, with refusal rates",
            tasks=_PROMPTED,
        ),
    },
    figures={
        "scores": Figure(caption="Stereotype score against language modelling score", tables=("scores",)),
    },
    metrics={
        "language_modelling_score": Metric(
            neutral=None, direction="100: a related sentence always beats the unrelated one; chance is 50.", unit="%"
        ),
        "stereotype_score": Metric(
            neutral=50.0, direction="Above 50 the stereotype is preferred, below 50 the anti-stereotype.", unit="%"
        ),
        "icat": Metric(
            neutral=None,
            direction="lms x min(ss, 100 - ss) / 50: 100 is ideal, 0 a fully stereotyped (or reversed) or a "
            "meaningless model; random preference gives 50.",
        ),
        "refusal_rate": Metric(
            neutral=None, direction="0: every prompt was answered; 100: every one refused.", unit="%"
        ),
    },
    released={"gpt2": "stereoset_gpt2"},
    released_tasks=_LIKELIHOOD,
)
