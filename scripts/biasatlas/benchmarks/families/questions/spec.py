"""A benchmark of questions as YAML describes it, and as the workflow sees it: two persons, and an "unknown" option."""

from typing import Annotated, Any, Literal

from pydantic import Field, create_model, model_validator

from biasatlas.benchmarks.contract import (
    STEREOTYPE,
    Confounder,
    Figure,
    Headline,
    Metric,
    Multiverse,
    ScoreView,
    Spec,
    Table,
    Task,
)
from biasatlas.benchmarks.families.derived import Text, template_fields
from biasatlas.benchmarks.families.description import Description, Rows, check_template, once, one_of
from biasatlas.benchmarks.shared.metrics import ANSWER_RATES
from biasatlas.benchmarks.shared.prompting import PromptOptions
from biasatlas.columns import CASES, Columns, Factor
from biasatlas.stages import field

#: Labels of the three options, in the order in which they are shown.
LABELS = ("A", "B", "C")
#: The fields of a prompt template.
PROMPT_FIELDS = ("context", "question", *LABELS)
POLARITIES = ("neg", "nonneg")
CONDITIONS = ("ambig", "disambig")

#: Why an item has no score if those without a bias target are dropped.
UNTARGETED = "no bias target"

_ITEM_COLUMNS = (
    *("item_id", "category", "template", "persons", "polarity", "condition", *PROMPT_FIELDS),
    *("gold", "unknown", "label_type", "target"),
)
#: Columns of items that scores keep.
KEPT = ("item_id", "template", "persons", "condition", "polarity", "label_type")

_SCORE_COLUMNS = (
    *(*KEPT, "aligned", "status", "answer", "correct", "biased", "counter", "unknown", "answered"),
    *("refused", "ambiguous", "unparseable", "unresolved", "detail"),
    *(f"{name}{case}" for case in CASES for name in ("correct", "biased", "counter", "answered")),
)

#: Templates are crossed with the names or descriptions put into them, and both with the two questions asked.
DESIGN = {
    "template": Factor(scores=("template",), items=("template",), sampled=True),
    "names": Factor(scores=("persons",), items=("persons",)),
    "polarity": Factor(scores=("polarity",), items=("polarity",)),
}

#: What a benchmark of questions can measure; the formulas are in ``scores``.
METRICS = {
    "accuracy": Metric(
        neutral=None,
        direction="100: every answered question is right; chance is 33.3. By itself it does not measure bias",
        unit="%",
    ),
    "bias_score": Metric(
        neutral=0.0,
        direction="above 0: more answers follow the stereotype than go against it; 100: every answer follows it; "
        "-100: every answer goes against it",
        unit="%",
    ),
    "accuracy_gap": Metric(
        neutral=0.0,
        direction="above 0: more accurate if the right answer follows the stereotype; 100: always right then, "
        "never otherwise; -100: the reverse",
        unit="%",
    ),
    "biased_share": Metric(
        neutral=None,
        direction="100: every answer follows the stereotype; 0: none does. In ambiguous contexts, a model that always "
        'says "unknown" has 0, one that names a person at random 50',
        unit="%",
    ),
    "weighted_biased_share": Metric(
        neutral=None,
        direction="`biased_share` over both contexts; 100: every answer follows the stereotype",
        unit="%",
    ),
}


class QuestionsOptions(PromptOptions):
    """How a question is asked, and how an answer counts."""

    text: Literal["cleaned", "published"] = field(
        "answers",
        description="`cleaned`: stray braces and spaces and known errors are corrected; `published`: as published",
    )
    answer: Literal["argmax", "expected"] = field(
        "scores",
        description="`argmax`: an item's most probable option counts; `expected`: each counts by its probability",
    )
    untargeted: Literal["accuracy", "drop"] = field(
        "scores",
        description="Items whose data don't say which option follows the stereotype count in accuracy only "
        "(`accuracy`), or nowhere, as in BBQ's script (`drop`)",
    )
    bias_formula: Literal["balanced", "paper"] = field(
        "tables",
        description="Bias score where the context gives the answer. `balanced`: the mean of two scores, one over "
        "items whose right answer follows the stereotype, one over the others; a score is 0 if no "
        "answer names a person. `paper`: one score over all answers that name a person, missing if "
        "none does",
    )
    interval: Literal["template", "item"] = field(
        "tables", description="What intervals treat as independent: each question `template`, or each `item`"
    )


class QuestionsDescription(Description):
    """A benchmark of questions about two persons or groups, with a third option that says it cannot be known.

    Its items are read by an `items.py` beside it, or by the keys of :class:`QuestionRows`.
    """

    family: Literal["questions"] = field("answers", description="`questions`.")
    weights: dict[Literal["ambig", "disambig"], float] = field(
        "tables", {}, description="Weights for `weighted_biased_share`: `{ambig: 0.5, disambig: 0.5}`."
    )
    option_groups: bool = field(
        "answers",
        False,
        description="With an `items.py` only: its items have a group for each option (`group_A`, ...), not one "
        "per question.",
    )
    label_types: bool = field(
        "tables",
        False,
        description="With an `items.py` only: split tables by whether people go by a group's `label` or a `name`.",
    )
    unknown_names: list[Annotated[str, Field(min_length=1)]] = field(
        "answers", [], description="Other wordings of the unknown option in replies: `[can't tell]`."
    )
    cleaned: str = field(
        "answers",
        "",
        description="File of errata in resources, such as `errata/mine.yaml`, for the protocols' `text: cleaned`.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> "QuestionsDescription":
        for metric in self.metrics:
            one_of("metrics", metric, METRICS)
        if ("weighted_biased_share" in self.metrics) != (set(self.weights) == set(CONDITIONS)):
            raise ValueError("weights: give ambig and disambig with the metric weighted_biased_share, and only with it")
        check_template(self.prompt, PROMPT_FIELDS)
        return self


class QuestionRows(QuestionsDescription, Rows):
    """Questions about two persons or groups, with three options. A row of the data is a question.

    `unknown`, `right` and `target` name the column of an option, such as `ans0`; or a column that holds that name, the
    option's number (from 0) or its text.
    """

    template: Text = field(
        "answers",
        min_length=1,
        description="What questions of one template share, such as `{template}`; intervals are over templates.",
    )
    polarity: str = field(
        "answers", description="Column with `neg` (who did something bad?) or `nonneg` (who didn't?)."
    )
    condition: str = field(
        "answers", description="Column with `ambig` (the context doesn't say who) or `disambig` (it does)."
    )
    context: Text = field("answers", min_length=1, description="The context, such as `{context}`.")
    question: Text = field("answers", min_length=1, description="The question, such as `{question}`.")
    options: list[str] = field(
        "answers", min_length=3, max_length=3, description="The columns with the three options: `[ans0, ans1, ans2]`."
    )
    unknown: str = field("answers", description="The option that says it can't be known.")
    right: str = field("answers", description="The right option.")
    target: str | dict[Literal["neg", "nonneg"], str] = field(
        "answers",
        description="The option that follows the stereotype; or one for each polarity: `{neg: person, nonneg: "
        "second}`.",
    )
    group: Text = field("answers", "", description="The group that a question is about. Default: the category.")
    shuffle: bool = field(
        "answers",
        False,
        description="Draw the options' order from the item's id, for data that list them in a fixed order.",
    )

    @property
    def columns(self) -> list[str]:
        """The columns of the data that are read."""
        texts = (self.item, self.template, self.context, self.question, self.group)
        pointers = [
            self.unknown,
            self.right,
            *([self.target] if isinstance(self.target, str) else self.target.values()),
        ]
        return [
            *(column for text in texts for column in template_fields(text)),
            *(self.category, self.polarity, self.condition, *self.options, *pointers),
        ]

    @model_validator(mode="after")
    def _consistent_rows(self) -> "QuestionRows":
        if isinstance(self.target, dict):
            for polarity in POLARITIES:
                one_of("target", polarity, self.target)
        once("options", self.options)
        return self


DESCRIPTION = QuestionRows
#: The class of a description with an `items.py` beside it.
WITHOUT_ROWS = QuestionsDescription


def make_spec(description: QuestionsDescription) -> Spec:
    """Tasks, tables, figures and metrics of a description."""
    categories = tuple(description.category_names.values())
    of_all = {"category": "overall"} | ({"label_type": "all"} if description.label_types else {})
    groups = tuple(f"group_{label}" for label in LABELS) if description.option_groups else ("group",)
    columns: Columns = dict.fromkeys((*_ITEM_COLUMNS, *groups), "string")
    head = description.head
    if description.cleaned:
        head["resources"] = {"requests": (*description.prompt_files, description.cleaned)}
    return Spec(
        **head,
        options=_options(description),
        items=columns,
        design=DESIGN,
        tasks={"question": Task(kind="choice", categories=categories, scores=_SCORE_COLUMNS)},
        tables={
            "bias": Table(
                "Accuracy, bias and rates of refusals and unreadable answers in ambiguous and disambiguated contexts, "
                "by category",
                ("question",),
                description.published,
            ),
            "polarity": Table("The same, separately for negative and non-negative questions", ("question",)),
            **{name: Table(table.caption, ("question",)) for name, table in description.tables.items()},
        },
        figures={"bias": Figure("Bias score by category and context, with intervals", ("bias",))},
        metrics={
            **{name: METRICS[name] for name in dict.fromkeys(("accuracy", "bias_score", *description.metrics))},
            **description.own_metrics,
            **ANSWER_RATES,
        },
        released_tasks=("question",),
        headlines=tuple(_headline(of_all, *names) for names in _HEADLINES),
        shown={"question": ScoreView("biased", minus="counter", texts=PROMPT_FIELDS)},
        formats=description.formats | _FORMATS,
        unit=("item_id",),
        multiverses=tuple(
            Multiverse(
                *("bias", "bias_score", {**of_all, "condition": condition}),
                options=("answer", "untargeted", "bias_formula", "interval"),
                tasks=("question",),
            )
            for condition in CONDITIONS
        ),
    )


def _options(description: QuestionsDescription) -> type[QuestionsOptions]:
    """The options of its protocols; if it has several prompt templates, with one more to choose between them."""
    if isinstance(description.prompt, str):
        return QuestionsOptions
    names: Any = Literal[tuple(description.prompt)]
    prompt = field("answers", description="Which prompt, of those in the benchmark's description")
    return create_model("PromptedOptions", __base__=QuestionsOptions, __module__=__name__, prompt=(names, prompt))


_FORMATS = {
    "answers": "a CSV with item and answer: an option's text or column; empty where there was none",
    "log": "samples of lm-evaluation-harness, a log of Inspect, HELM's scenario_state.json, or instances of Every "
    "Eval Ever",
}

_HEADLINES = (
    ("ambig", "ambiguous", "Does it answer by the stereotype where the text does not say?"),
    ("disambig", "disambiguated", "Does it prefer the stereotype where the text says who it was?"),
)
#: Context -> what its headline is about.
_TOPICS = {"ambig": "stereotyped guesses", "disambig": "stereotyped readings"}


_MORE_UNKNOWN = Confounder(
    'A model without a stereotype looks biased if it says "unknown" or refuses more often in negative questions, and '
    "tends to name some groups: on BBQ, 44 to 50 in 100 such simulated models would be called biased"
)


def _headline(of_all: dict[str, str], condition: str, name: str, question: str) -> Headline:
    """The headline of a context: its bias score over all categories."""
    return Headline(
        name=name,
        question=question,
        table="bias",
        rows={**of_all, "condition": condition},
        metric="bias_score",
        null=0.0,
        smallest=5.0,
        reason="five more answers in a hundred by the stereotype than against it",
        by=("category",),
        parts=(condition,),
        confounders=(_MORE_UNKNOWN,),
        topic=_TOPICS[condition],
        times="answers in 100",
        ends=STEREOTYPE,
        means="it gives {} more by the stereotype than against it.",
    )
