"""A benchmark of decisions as YAML describes it, and as the workflow sees it: the same cases with one thing changed."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, model_validator

from biasatlas.benchmarks.contract import Figure, Headline, Metric, ScoreView, Spec, Table, Task
from biasatlas.benchmarks.families.description import (
    REPLIES,
    Cell,
    Rows,
    Text,
    check_template,
    once,
    one_of,
    template_fields,
)
from biasatlas.benchmarks.shared.metrics import ANSWER_RATES
from biasatlas.benchmarks.shared.prompting import ReadOptions
from biasatlas.columns import Columns, Factor
from biasatlas.stages import StagedModel, field

#: The fields of a prompt template.
PROMPT_FIELDS = ("document",)
#: The reference of a factor whose levels are compared with the mean of all placebo arms.
PLACEBOS = "placebos"
#: The arm of a case in which nothing was changed.
BASELINE = "baseline"
#: The category of all cases if a description names no column of categories.
ONE_CATEGORY = "decisions"
#: The row of a factor over all its levels, and that of all factors together.
OVERALL, ALL = "overall", "all"
#: The same as :data:`biasatlas.stats.placebos.NEEDED`, which is heavy to import.
_ARMS = 3

_ABOVE = "above 0: decisions are more favourable than for the reference; below 0: less favourable"
#: What a benchmark of decisions can measure; the formulas are in ``scores``. A yes is 100 points and a no 0, a score
#: counts itself, and a rank the number of those that come after it.
METRICS = {
    "shift": Metric(0.0, f"{_ABOVE}. The interval allows for other scenarios, not for other edits", "points"),
    "shift_over_placebos": Metric(
        0.0, f"{_ABOVE}. The interval allows for what one more meaningless edit might do", "points"
    ),
    "mean_gap": Metric(0.0, "above 0: references are treated better than other levels; below 0: worse", "points"),
    "distance_from_baseline": Metric(
        None,
        "0: no edit moves a decision. The distances of placebos show how far an edit without meaning moves decisions",
        "points",
    ),
}

_KEPT = ("item_id", "scenario", "arm", "placebo")
_SCORED = (
    *("status", "value", "least", "most"),
    *("refused", "ambiguous", "unparseable", "unresolved", "detail"),
)

#: YAML reads a bare yes as true.
_Label = Annotated[str, BeforeValidator(lambda value: {True: "yes", False: "no"}.get(value, value))]


class DecisionsOptions(ReadOptions):
    """How a decision is asked for. It counts with its expected value over what the model may answer."""


class VariedFactor(StagedModel):
    """Something about a person that varies between cases."""

    levels: list[Cell] | dict[str, list[Cell]] = field(
        "answers",
        min_length=1,
        description="Values of its column: `[woman, man]`; or levels of several values: `{woman: [Anna, Ines], "
        "man: [Jan]}`.",
    )
    reference: str = field(
        "answers", PLACEBOS, description="Level that the others are compared with, or `placebos` for their mean."
    )
    column: str = field("answers", "", description="Its column. Default: the column that `arm` names.")

    @property
    def values(self) -> dict[str, list[str]]:
        """The values of its column that make each level."""
        return self.levels if isinstance(self.levels, dict) else {level: [level] for level in self.levels}

    @property
    def compared(self) -> list[str]:
        """Its levels but the reference."""
        return [level for level in self.values if level != self.reference]


class DecisionsDescription(Rows):
    """Decisions about people: scenarios, each with cases that differ in one thing. A row of the data is a case.

    The column that `arm` names says what was changed in a case: a level of a factor, a placebo (a change that means
    nothing), or nothing (the baseline). Give one of `yes_no`, `score` and `rank`.
    """

    family: Literal["decisions"] = field("answers", description="`decisions`.")
    category: str = field("answers", "", description="Column with a case's category. Default: all cases have the same.")
    categories: list[Cell] | dict[str, str] = field(
        "answers",
        [ONE_CATEGORY],
        min_length=1,
        description="The categories, as the data write them: `[nurse, driver]`; or with a name for each: `{'1': "
        "nurse}`.",
    )
    scenario: Text = field("answers", min_length=1, description="A scenario's id, such as `{posting}`.")
    document: Text = field("answers", min_length=1, description="What the model sees of a case, such as `{letter}`.")
    arm: str = field("answers", "", description="Column that says what was changed in a case.")
    baseline: Cell = field("answers", "", description="That column's value where nothing was changed.")
    placebos: dict[str, list[Cell]] = field(
        "answers",
        {},
        description="That column's values for placebos, by kind: `{dates: [date1, date2], layout: [blank line]}`. A "
        "verdict needs three values; use seven, of several kinds.",
    )
    factors: dict[str, VariedFactor] = field(
        "answers", min_length=1, description="What varies between cases, by name: `{gender: {levels: [woman, man]}}`."
    )
    yes_no: list[_Label] = field("answers", [], description="For yes or no: the two words, `[Yes, No]`.")
    score: list[int] = field("answers", [], description="For a score: the lowest and the highest, `[1, 10]`.")
    rank: int = field(
        "answers",
        0,
        ge=0,
        le=100,
        description="For a rank: how many candidates are ranked, such as `8`; 1 is best.",
    )
    smallest: float = field(
        "nothing",
        gt=0,
        description="Smallest shift that matters: in yes answers per 100, points of the score, or ranks.",
    )
    smallest_because: str = field("nothing", min_length=1, description="Why a shift of that size matters.")
    texts_published: bool = field(
        "nothing",
        True,
        description="`false` if the published data lack the texts, so that no model can be asked.",
    )

    @property
    def columns(self) -> list[str]:
        """The columns of the data that are read."""
        named = [column for text in (self.item, self.scenario, self.document) for column in template_fields(text)]
        own = [factor.column for factor in self.factors.values()]
        return [*named, *filter(None, [self.category, self.arm, *own])]

    @property
    def labels(self) -> dict[str, float]:
        """Answer -> the points it counts: a yes 100 and a no 0, a score itself, a rank how many come after it."""
        if self.yes_no:
            return dict(zip(self.yes_no, (100.0, 0.0), strict=True))
        if self.rank:
            return {str(place): float(self.rank - place) for place in range(1, self.rank + 1)}
        return {str(number): float(number) for number in range(self.score[0], self.score[1] + 1)}

    @property
    def placebo_kind(self) -> dict[str, str]:
        """The kind of each placebo arm."""
        return {arm: kind for kind, arms in self.placebos.items() for arm in arms}

    @property
    def tested_metric(self) -> str:
        """The metric of its headlines; with too few placebos it is the shift, which gets no verdict."""
        return "shift_over_placebos" if len(self.placebo_kind) >= _ARMS else "shift"

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns of items that scores keep."""
        return (*_KEPT, *self.factors)

    @model_validator(mode="after")
    def _consistent(self) -> "DecisionsDescription":
        if sum(map(bool, (self.yes_no, self.score, self.rank))) != 1 or self.rank == 1:
            raise ValueError('give one of yes_no, as ["Yes", "No"], score, as [1, 10], and rank, as 8 (of that many)')
        if self.yes_no and (
            len(self.yes_no) != 2 or len({word.strip().casefold() for word in ["", *self.yes_no]}) != 3
        ):
            raise ValueError(
                f'yes_no: expected two words that differ in more than case, as ["Yes", "No"], got {self.yes_no}'
            )
        if self.score and (len(self.score) != 2 or not 0 <= self.score[0] < self.score[1] <= 100):
            raise ValueError(f"score: expected its least and its greatest whole number, 0 to 100, got {self.score}")
        scale = max(self.labels.values()) - min(self.labels.values())
        if self.smallest > scale:
            raise ValueError(
                f"smallest: {self.smallest:g} points, and decisions lie within {scale:g}; name a smaller shift"
            )
        for metric in self.metrics:
            one_of("metrics", metric, METRICS)
        if "distance_from_baseline" in self.metrics and not self.baseline:
            raise ValueError("baseline: give it with the metric distance_from_baseline")
        if (self.baseline or self.placebos) and not self.arm:
            raise ValueError("arm: name the column that says which case is the baseline or a placebo")
        self._check_factors()
        check_template(self.prompt, PROMPT_FIELDS if self.prompt else ())
        return self

    def _check_factors(self) -> None:
        if OVERALL in self.placebos:
            raise ValueError(f"placebos: call {OVERALL!r} otherwise; a row of the tables has that name")
        taken = {*_KEPT, *_SCORED, "model", "task", "category", "document"}
        for name, factor in self.factors.items():
            if name in taken:
                raise ValueError(f"factors: {name!r} is the name of another column; call it otherwise")
            if named := {OVERALL, ALL, PLACEBOS} & {name, *factor.values}:
                raise ValueError(f"factors.{name}: call {min(named)!r} otherwise; a row of the tables has that name")
            if not (factor.column or self.arm):
                raise ValueError(f"factors.{name}: name its column, or that of all as `arm`")
            one_of(f"factors.{name}.reference", factor.reference, [*factor.values, PLACEBOS])
            if not factor.compared:
                raise ValueError(f"factors.{name}: it has no level beside its reference")
            for level in filter(str.isdecimal, factor.values):
                raise ValueError(f"factors.{name}.levels: call {level!r} otherwise, as {{aged {level}: [{level}]}}")
            if factor.column:
                once(f"factors.{name}.levels", [value for values in factor.values.values() for value in values])
        arms = [
            value
            for factor in self.factors.values()
            if not factor.column
            for of in factor.values.values()
            for value in of
        ]
        once("arms of factors, placebos and baseline", [*arms, *self.placebo_kind, *filter(None, [self.baseline])])


DESCRIPTION = DecisionsDescription


def make_spec(description: DecisionsDescription) -> Spec:
    """The one task of a description, its tables, and a headline for each factor."""
    columns: Columns = dict.fromkeys(("item_id", "category", *description.kept, "document"), "string")
    tables = {
        "shifts": Table("How far each level of a factor shifts decisions, and whether placebos do", ("decision",))
    }
    if "distance_from_baseline" in description.metrics:
        tables["distances"] = Table("How far decisions move from those on the baseline, either way", ("decision",))
    tables |= {name: Table(table.caption, ("decision",)) for name, table in description.tables.items()}
    shown = dict.fromkeys(("shift", "shift_over_placebos", *description.metrics))
    sampled = "over scenarios" if description.tested_metric == "shift" else "of placebos"
    return Spec(
        **description.head,
        options=DecisionsOptions,
        items=columns,
        design={"scenario": Factor(scores=("scenario",), items=("scenario",), sampled=True, whole=True)}
        | ({"placebo": Factor(scores=("arm",), items=("arm",))} if description.placebos else {})
        | {name: Factor(scores=(name,), items=(name,)) for name in description.factors},
        tasks={
            "decision": Task(
                kind="choice",
                categories=tuple(description.category_names.values()),
                scores=(*description.kept, *_SCORED),
            )
        },
        tables=tables,
        figures={"shifts": Figure(f"Shift of each level, with the interval {sampled}", ("shifts",))},
        metrics={name: METRICS[name] for name in shown} | description.own_metrics | ANSWER_RATES,
        released_tasks=("decision",),
        headlines=tuple(_headline(description, name, factor) for name, factor in description.factors.items()),
        shown={"decision": ScoreView("value", neutral=_middle(description), unit="points", texts=PROMPT_FIELDS)},
        formats=description.formats | {"decisions": REPLIES},
        unit=("item_id",),
        taught_by_questions=True,
        texts_published=description.texts_published,
        note=""
        if len(description.placebo_kind) >= _ARMS
        else f"this benchmark has {len(description.placebo_kind) or 'none'} of the {_ARMS} placebos that a verdict "
        "needs, so that there will be none. Add changes that mean nothing, each of its own kind; seven are advised.",
    )


def _middle(description: DecisionsDescription) -> float:
    values = list(description.labels.values())
    return (min(values) + max(values)) / 2


def _headline(description: DecisionsDescription, name: str, factor: VariedFactor) -> Headline:
    """The headline of a factor: the largest shift of any of its levels."""
    of = name.replace("_", " ")
    compared = description.tested_metric != "shift"
    groups, sides = _groups(factor), ("less likely", "more likely") if description.yes_no else ("worse", "better")
    return Headline(
        name=name,
        question=f"Does a change of {of} shift its decisions{' by more than a placebo edit does' * compared}?",
        table="shifts",
        rows={"factor": name, "category": OVERALL},
        metric=description.tested_metric,
        null=0.0,
        smallest=description.smallest,
        reason=description.smallest_because,
        by=("category",),
        parts=(name,),
        columns={"category": name},
        topic=f"decisions by {of}",
        times="percentage points" if description.yes_no else "",
        means=f"{'a favourable decision is ' if description.yes_no else ''}{{}} {{way}}, with only {of} changed.",
        ends=(f"{sides[0]} {groups}".strip(), f"{sides[1]} {groups}".strip()),
        counted="scenarios",
        note="Sure for these scenarios; others may give a different size." if compared else "",
        own_null=True,
    )


def _groups(factor: VariedFactor) -> str:
    """The groups in "less likely for a than for b"; empty if several groups are compared."""
    if len(factor.compared) != 1:
        return ""
    than = "" if factor.reference == PLACEBOS else f" than for {factor.reference}"
    return f"for {factor.compared[0]}{than}".replace("_", " ")
