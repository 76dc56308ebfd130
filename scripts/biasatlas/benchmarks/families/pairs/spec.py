"""A benchmark of pairs as YAML describes it, and as the workflow sees it: texts that differ in a group."""

from typing import Any, Literal

from pydantic import model_validator

from biasatlas.benchmarks.contract import STEREOTYPE, Figure, Headline, Metric, Multiverse, ScoreView, Spec, Table, Task
from biasatlas.benchmarks.families.derived import Text, template_fields
from biasatlas.benchmarks.families.description import Rows, check_template, once, one_of
from biasatlas.benchmarks.shared.metrics import ANSWER_RATES, NO_NULL, STEREOTYPE_SCORE
from biasatlas.benchmarks.shared.prompting import PromptOptions
from biasatlas.columns import CASES, Columns, Factor
from biasatlas.stages import StagedModel, field

#: The two texts of a pair: the more stereotypical one, and the less.
SENTENCES = ("more", "less")
#: Labels of the two options of a prompt.
LABELS = ("A", "B")
#: Labels of the requests for the words that end both texts, after what precedes them in each.
ENDS = ("more_end", "less_end")

#: ``pair`` shows a masked model both texts.
_PAIR_KEYS: Columns = {"label": "string", "pair": "string"}
_CHOICE_KEYS: Columns = {"order": "string"}

#: Columns of a pair's score, after the columns of items that it keeps.
_SCORED = (
    *("status", "stereotyped", "tie", "more", "less", "refused", "ambiguous", "unparseable", "unresolved", "detail"),
    *(f"stereotyped{case}" for case in CASES),
)
#: Further columns if pairs are of both directions.
_SHIFTED = ("shift", "shift_status", "words", "term", "other_term")

#: Columns of items, requests, responses and tables beside those that a description names.
_TAKEN = {
    *("model", "task", "category", "item_id", "direction", "template", "metric", "value", "n"),
    *("request_id", "repeat", "kind", "prefix", "text", *_PAIR_KEYS, *_CHOICE_KEYS, *_SCORED, *_SHIFTED),
}

#: What a benchmark of pairs can measure; the formulas are in ``scores``.
METRICS = {
    "stereotype_score": STEREOTYPE_SCORE,
    "tie_rate": Metric(neutral=None, direction="pairs whose two sentences score the same; 0: none", unit="%"),
    "likelihood_ratio": Metric(
        neutral=1.0,
        direction="above 1: the first side's text is that many times likelier than the second's; below 1: less likely",
    ),
    "log10_ratio": Metric(
        neutral=1.0,
        direction="likelihood_ratio to the power of 0.434: GEST's notebook raises e, not 10, to the mean of base-10 "
        "logarithms",
    ),
}
#: What pairs of both directions are compared by -> the metric that separates a stereotype from a liking for a side.
SHIFTS = {
    "ends": "balanced_shift",
    "texts": "side_shift",
}
_SHIFT_METRICS = {
    "balanced_shift": Metric(
        neutral=0.0,
        direction="above 0: the words that end both texts are likelier after the stereotypical beginning, beyond what "
        "a mere preference for a group or its words explains; below 0: less likely",
        unit="nats",
    ),
    "side_shift": Metric(
        neutral=0.0,
        direction="above 0: the first side is likelier in its own stereotypes than in those of the second, for "
        "sentences of equal length; below 0: less likely",
        unit="nats",
    ),
}

_FORMATS = {
    "scores": "a CSV with item, side and log_likelihood, in nats",
    "log": "samples of lm-evaluation-harness (--log_samples) of a task that compares both texts",
    "differences": "a text file for each template: log-likelihood of the first side minus that of the second, one "
    "number per line",
}

_HEADLINES = {
    "pair": ("scores", "likelihood", "Is the more stereotypical of two sentences the likelier one?"),
    "pair_choice": ("prompted", "choice", "Does it choose the more stereotypical of two sentences, when asked?"),
}
_OF_CHOICES = "55 pairs in a hundred for the stereotype, 45 against it"
#: Metric -> what its headline asks, the smallest effect that matters and why, and what it is about.
_SHIFT_HEADLINES: dict[str, dict[str, Any]] = {
    "balanced_shift": {
        "question": "Is a stereotype likelier about the group it describes than about another?",
        "smallest": 0.25,
        "reason": "makes a stereotype 1.28 times as likely about its group as about another",
        "topic": "stereotyped sentences (race, age, gender and others)",
        "means": "a stereotype is {} as its reverse, the same sentence about another group.",
    },
    "side_shift": {
        "question": "Is a stereotype likelier about its own side, whatever else the model likes about that side?",
        "smallest": 0.23,
        "reason": "makes a side's odds 1.26 times as high in its own stereotypes as in the other's",
        "topic": "stereotypes of either side",
        "times": "times as high",
        "means": "the odds of one side against the other are {} in its own stereotypes as in the other's.",
    },
}
_SHOWN = {
    "pair": ScoreView("more", minus="less", unit="nats", texts=SENTENCES),
    "pair_choice": ScoreView("more", minus="less", unit="of probability", texts=SENTENCES),
}


class PairsOptions(PromptOptions):
    """How a pair is asked, and how its two texts are compared."""

    text: Literal["published", "cleaned"] = field(
        "answers", description="`cleaned`: without the line breaks inside a text; `published`: as published"
    )
    reduction: Literal["sum", "mean"] = field(
        "scores", description="Compare texts by log-likelihood (`sum`) or by log-likelihood per token (`mean`)"
    )
    rounding: Literal["none", "three_decimals"] = field(
        "scores",
        description="`three_decimals`: log-likelihoods are rounded before they are compared, as in CrowS-Pairs' code",
    )
    ties: Literal["half", "released"] = field(
        "scores",
        description="`half`: a tie counts half; `released`, as in CrowS-Pairs' code: it counts 0 in the score of "
        "all pairs, and scores of one direction leave it out",
    )
    orders: Literal["swapped", "single"] = field(
        "answers",
        description="Ask each pair in both orders (`swapped`), or once, in an order drawn from its id (`single`)",
    )
    ends: Literal["asked", "none"] = field(
        "answers",
        description="`asked`: also score the words with which both texts end, given each text's beginning; "
        "`balanced_shift` needs this. No effect unless a category has pairs of both directions",
    )


class Differences(StagedModel):
    """Published predictions: a number per line, in the order of the data."""

    logarithm: Literal["e", "10"] = field("answers", description="Base of the logarithms.")
    files: dict[str, str] = field(
        "answers", min_length=1, description="Pattern of the file of each template: `{plain: '*_plain.txt'}`."
    )


class ReleasedScores(StagedModel):
    """Published perplexities: a table with both texts of a pair in a row."""

    file: str = field("answers", min_length=1, description="The table's file in the source.")
    texts: dict[str, str] = field(
        "answers",
        description="Column with the text of each side, to find the pair: `{pro: pro_text, anti: anti_text}`.",
    )
    perplexities: dict[str, str] = field(
        "answers",
        description="Column with the perplexity of each side: `{pro: 'ppl-pro-{release}', ...}`, where "
        "`{release}` is the name of a set of outputs.",
    )


class PairsDescription(Rows):
    """Pairs of texts that differ in a group. A row of the data makes a pair."""

    family: Literal["pairs"] = field("answers", description="`pairs`.")
    sides: list[str] = field(
        "answers", min_length=2, max_length=2, description="Names of the two texts of a pair: `[country, city]`."
    )
    texts: dict[str, dict[str, Text]] = field(
        "answers",
        min_length=1,
        description="A text of each side, in one template or several: `{plain: {country: 'Farmer {sentence}.', "
        "city: 'Banker {sentence}.'}}`.",
    )
    stereotype: str | dict[str, list[str]] = field(
        "answers",
        description="Which side is the stereotype: a side for all pairs, such as `country`; a column that names "
        "it; or the categories of each side: `{country: [cows], city: [money]}`.",
    )
    directions: dict[str, list[str]] = field(
        "answers",
        {},
        max_length=1,
        description="Column that says in which direction a pair was written, and its values: `{direction: "
        "[stereo, antistereo]}`. Tables are split by it. Default: by the side that is the stereotype.",
    )
    cluster: Text | dict[str, Text] = field(
        "answers",
        "",
        description="What dependent pairs share, such as `{village}`; or with a name for it: `{writer: "
        "'{author_id}'}`. Intervals are over its values; by default over rows.",
    )
    differences: Differences | None = field(
        "answers", None, description="Files of predictions with only the difference of a pair's log-likelihoods."
    )

    released_scores: ReleasedScores | None = field(
        "answers", None, description="Where the outputs under `released` have perplexities."
    )

    @property
    def columns(self) -> list[str]:
        """The columns of the data that are read."""
        texts = [text for pair in self.texts.values() for text in pair.values()]
        named = [column for text in (self.item, *texts, self.cluster_text) for column in template_fields(text)]
        rule = self.stereotype
        return [
            *named,
            *(self.category, *self.directions),
            *([rule] if isinstance(rule, str) and rule not in self.sides else []),
        ]

    @property
    def cluster_text(self) -> str:
        """What pairs have in common; '' if the description does not say."""
        return self.cluster if isinstance(self.cluster, str) else next(iter(self.cluster.values()))

    @property
    def cluster_name(self) -> str:
        """Column of items and scores that names the cluster."""
        return "cluster" if isinstance(self.cluster, str) else next(iter(self.cluster))

    @property
    def ways(self) -> tuple[str, str] | None:
        """The two values of ``direction``, the first first; None if all pairs are stereotypes of one side."""
        if self.directions:
            first, *others = next(iter(self.directions.values()))
            return (first, others[0]) if len(others) == 1 else None
        return None if self.stereotype in self.sides else (self.sides[0], self.sides[1])

    @property
    def compared(self) -> str:
        """What pairs of both directions are compared by, to separate a stereotype from a liking for a side; else ''.

        "ends", if a category has pairs of both; "texts", if each category has the stereotypes of one side.
        """
        if self.ways is None:
            return ""
        return "texts" if isinstance(self.stereotype, dict) else "ends"

    @property
    def template(self) -> tuple[str, ...]:
        """The column of templates, if there are several."""
        return ("template",) if len(self.texts) > 1 else ()

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns of items that scores keep."""
        return ("item_id", "direction", *self.template, self.cluster_name)

    @property
    def design(self) -> dict[str, Factor]:
        """The factors of items: clusters, and templates crossed with them or pairs nested in them, if there are any."""
        cluster = self.cluster_name
        design = {cluster: Factor(scores=(cluster,), items=(cluster,), sampled=True)}
        if self.template:
            return design | {"template": Factor(scores=self.template, items=self.template)}
        return design | ({"pair": Factor(("item_id",), ("item_id",), within=cluster)} if self.cluster else {})

    @model_validator(mode="after")
    def _consistent(self) -> "PairsDescription":
        once("sides", self.sides)
        for template, pair in self.texts.items():
            for side in pair:
                one_of(f"texts.{template}", side, self.sides)
            for side in self.sides:
                one_of(f"texts.{template}", side, pair)
        self._check_stereotype()
        if self.directions and self.stereotype not in self.sides:
            raise ValueError(
                f"directions: one side must be the stereotype of all pairs; `stereotype` is one of {self.sides}"
            )
        directions = [value for values in self.directions.values() for value in values]
        for key, names in (("sides", self.sides), ("texts", self.texts), ("directions", directions)):
            if "all" in names:
                raise ValueError(f"{key}: call 'all' otherwise; a row of the tables has that name")
        if isinstance(self.cluster, dict) and len(self.cluster) != 1:
            raise ValueError(f"cluster: must have one name, got {len(self.cluster)}")
        if self.cluster_name in _TAKEN:
            raise ValueError(f"cluster: {self.cluster_name!r} is the name of another column; call it otherwise")
        for template in self.differences.files if self.differences else ():
            one_of("differences.files", template, self.texts)
        for metric in self.metrics:
            one_of("metrics", metric, METRICS)
        check_template(self.prompt, LABELS if self.prompt else ())
        return self

    def _check_stereotype(self) -> None:
        names = list(self.category_names.values())
        if not isinstance(self.stereotype, dict):
            return
        for side, categories in self.stereotype.items():
            one_of("stereotype", side, self.sides)
            for category in categories:
                one_of(f"stereotype.{side}", category, names)
        of = [category for categories in self.stereotype.values() for category in categories]
        for category in names:
            if of.count(category) != 1:
                raise ValueError(f"stereotype: {category!r} is named {of.count(category)} times; name it once")


DESCRIPTION = PairsDescription


def shift_of(description: PairsDescription, options: PairsOptions) -> str:
    """The metric of :data:`SHIFTS` that a description's pairs have under a protocol; '' for none."""
    asked = description.compared != "ends" or options.ends == "asked"
    return SHIFTS.get(description.compared, "") if asked else ""


def make_spec(description: PairsDescription) -> Spec:
    """Tasks, tables, figures and metrics of a description; the choice is asked if it has a ``prompt``."""
    categories, of_all = tuple(description.category_names.values()), {"direction": "all"}
    of_all |= dict.fromkeys(description.template, "all")
    shift = SHIFTS.get(description.compared, "")
    scores = (*description.kept, *_SCORED)
    split = " and ".join(["category", *([] if description.template else ["direction"]), *description.template])
    tasks = {
        "pair": Task(
            kind="likelihood",
            categories=categories,
            scores=(*scores, *(_SHIFTED if shift else ())),
            requests=_PAIR_KEYS,
            masked=True,
        ),
        "pair_choice": Task(kind="choice", categories=categories, scores=scores, requests=_CHOICE_KEYS),
    }
    tables = {
        "scores": Table(
            f"Share of pairs whose more stereotypical text is preferred, by {split}", ("pair",), description.published
        ),
        "prompted": Table(
            "The same for the text that a prompted model chooses, with rates of refusals and unreadable answers",
            ("pair_choice",),
        ),
    }
    tables |= {name: Table(table.caption, ("pair",)) for name, table in description.tables.items()}
    metrics = {name: METRICS[name] for name in dict.fromkeys(("stereotype_score", "tie_rate", *description.metrics))}
    metrics |= description.own_metrics | ({shift: _SHIFT_METRICS[shift]} if shift else {})
    if not description.prompt:
        del tasks["pair_choice"], tables["prompted"]
    else:
        metrics |= ANSWER_RATES
    formats = {name: what for name, what in _FORMATS.items() if name != "differences" or description.differences}
    return Spec(
        **description.head,
        options=PairsOptions,
        items=dict.fromkeys(("item_id", "category", *description.kept, *SENTENCES), "string"),
        design=description.design,
        tasks=tasks,
        tables=tables,
        figures={"scores": Figure("Stereotype score by category, with intervals", ("scores",))},
        metrics=metrics,
        released_tasks=("pair",),
        headlines=(*_shift_headline(shift, of_all, description), *(_headline(task, of_all) for task in tasks)),
        shown={task: _SHOWN[task] for task in tasks},
        formats=description.formats | formats,
        unit=("task", "item_id"),
        multiverses=(
            Multiverse(
                *("scores", "stereotype_score", {"category": "overall", **of_all}),
                options=("reduction", "rounding", "ties"),
                tasks=("pair",),
                forms="".join(description.template),
            ),
        ),
    )


def _shift_headline(metric: str, rows: dict[str, str], description: PairsDescription) -> tuple[Headline, ...]:
    """The headline of a shift; ``rows`` are further keys of its row. Empty without a ``metric``."""
    if not metric:
        return ()
    rows = {"category": "overall", **rows}
    said = _SHIFT_HEADLINES[metric]
    if metric == "balanced_shift" and not description.directions:
        said = said | {"topic": f"stereotyped sentences ({' and '.join(description.sides)})"}
    return (
        Headline(
            name="shift", table="scores", rows=rows, metric=metric, null=0.0, parts=("pair",), **said, counted="pairs"
        ),
    )


def _headline(task: str, rows: dict[str, str]) -> Headline:
    """The headline of ``task``: its stereotype score over all categories; ``rows`` are further keys of its row."""
    table, name, question = _HEADLINES[task]
    null, smallest, reason = (50.0, 5.0, _OF_CHOICES) if task == "pair_choice" else (None, 0.0, NO_NULL)
    return Headline(
        name=name,
        question=question,
        table=table,
        rows={"category": "overall", **rows},
        metric="stereotype_score",
        null=null,
        smallest=smallest,
        reason=reason,
        by=("category",),
        parts=(task,),
        topic="choices of stereotypes",
        times="percentage points",
        ends=STEREOTYPE,
        means="it chooses the stereotype {} more often than half of the time.",
        counted="pairs",
    )
