"""A benchmark of contexts as YAML describes it, and as the workflow sees it: when should groups be told apart?"""

from typing import Literal

from pydantic import model_validator

from biasatlas.benchmarks.contract import Figure, Headline, Metric, ScoreView, Spec, Table, Task
from biasatlas.benchmarks.families.description import REPLIES, Rows, Text, check_template, one_of, template_fields
from biasatlas.benchmarks.shared.metrics import ANSWER_RATES
from biasatlas.benchmarks.shared.prompting import ReadOptions
from biasatlas.columns import CASES, Columns, Factor
from biasatlas.stages import field

#: The fields of a prompt template.
PROMPT_FIELDS = ("question",)
#: Groups differ in what is asked, or they do not.
CONDITIONS = ("differ", "equal")
#: The three options: either group, or no difference.
LABELS = ("A", "B", "C")
NO_DIFFERENCE = "C"

_ITEM_COLUMNS = ("item_id", "category", "condition", "scenario", "question", *LABELS, "gold")
_SCORED = ("right", "apart", "answered")
_SCORE_COLUMNS = (
    *("item_id", "condition", "scenario", "status", *_SCORED),
    *("refused", "ambiguous", "unparseable", "unresolved", "detail"),
    *(f"{name}{case}" for case in CASES for name in _SCORED),
)

#: What a benchmark of contexts measures; the formulas are in ``scores``.
METRICS = {
    "difference_awareness": Metric(
        None,
        "100: the model always names the right group where groups differ; 33.3: it guesses; 0: it never does",
        "%",
    ),
    "contextual_awareness": Metric(
        None, "100: the model names a group only where groups differ; 33.3: it guesses", "%"
    ),
}


class ContextsOptions(ReadOptions):
    """How a question is asked. It counts with its most probable option."""


class ContextsDescription(Rows):
    """Questions about two groups. If they differ, a group, (a) or (b), is right; if not, (c), "no difference".

    A row of the data is a question.
    """

    family: Literal["contexts"] = field("answers", description="`contexts`.")
    condition: str = field("answers", description="Column with `differ` (the groups differ) or `equal`.")
    question: Text = field(
        "answers", min_length=1, description="The question with its options (a), (b) and (c), such as `{question}`."
    )
    right: str = field("answers", description="Column with the right option where groups differ: 0 for (a), 1 for (b).")
    scenario: Text = field(
        "answers",
        min_length=1,
        description="What dependent questions share. Intervals are over its values.",
    )
    shared: list[str] = field(
        "answers",
        [],
        description="Categories in which a scenario spans both conditions; elsewhere, the scenarios of "
        "each condition are separate.",
    )

    @property
    def columns(self) -> list[str]:
        """The columns of the data that are read."""
        named = [column for text in (self.item, self.question, self.scenario) for column in template_fields(text)]
        return [*named, self.category, self.condition, self.right]

    @model_validator(mode="after")
    def _consistent(self) -> "ContextsDescription":
        for metric in self.metrics:
            one_of("metrics", metric, METRICS)
        for category in self.shared:
            one_of("shared", category, self.category_names.values())
        check_template(self.prompt, PROMPT_FIELDS)
        return self


DESCRIPTION = ContextsDescription

_HEADLINES = {
    "difference_awareness": "Does it name the right group where groups differ?",
    "contextual_awareness": "Does it tell groups apart only where they differ?",
}
_NO_NULL = "neither a right nor a wrong answer is a sign of bias, so nobody knows what an unbiased model would score"


def make_spec(description: ContextsDescription) -> Spec:
    """The one task of a description, its table and its figure."""
    columns: Columns = dict.fromkeys(_ITEM_COLUMNS, "string")
    return Spec(
        **description.head,
        options=ContextsOptions,
        items=columns,
        design={
            "scenario": Factor(scores=("scenario",), items=("scenario",), sampled=True),
            "condition": Factor(scores=("condition",), items=("condition",)),
        },
        tasks={"question": Task("choice", tuple(description.category_names.values()), _SCORE_COLUMNS)},
        tables={
            "awareness": Table(
                "Whether a model tells groups apart where they differ, and only there, by category",
                ("question",),
                description.published,
            ),
            **{name: Table(table.caption, ("question",)) for name, table in description.tables.items()},
        },
        figures={
            "plane": Figure(
                "Both kinds of awareness by category; the cross is a model that draws its answers", ("awareness",)
            )
        },
        metrics={**METRICS, **description.own_metrics, **ANSWER_RATES},
        released_tasks=("question",),
        headlines=tuple(
            Headline(name, question, "awareness", {"category": "overall"}, name, None, _NO_NULL, by=("category",))
            for name, question in _HEADLINES.items()
        ),
        shown={"question": ScoreView("right", texts=PROMPT_FIELDS)},
        formats=description.formats | {"answers": REPLIES},
        unit=("item_id",),
        taught_by_questions=True,
    )
