"""What a benchmark is: a declaration that the workflow plans with, and a function for each of its steps.

A benchmark is a folder of :mod:`biasatlas.benchmarks`: ``spec`` holds SPEC, a :class:`Spec`, and any module the rest,
which is found by name. Each function takes one argument, a :class:`Step`, with what the step may see and nothing else
(:data:`GIVEN`):

``read_items``        raw files to items; ``check_items``, if published data can be checked against published counts
``build_requests``    items to the requests of one task
``score_responses``   responses to the scores of one category
:func:`table`         marks functions of a step: scores end to end to a table; :func:`figure`: tables to a figure
``PARSERS``           ways to read a reply beside those of :mod:`biasatlas.benchmarks.shared.parsing`
``bias_roles``        what a request is about, for models of kind ``simulated``; TEXTS: columns whose words they count
``build_judge_requests``, ``build_order_requests``    what a judge is asked
``import_responses``  published outputs to a response for each request; FORMATS: a user's own, by the name of a format
``evidence``          what models are compared by, as ``unit`` of its spec says
``CHECKS``            of the beginning of a user's file

A benchmark that a YAML file describes has the functions of its family, in :mod:`biasatlas.benchmarks.families`, which
find the description in ``step.description``; its folder, if it has one, holds the file as ``spec.yaml``, and functions
that stand in for the family's or make tables of its own. Nothing heavy is imported here: planning reads specs alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar

from biasatlas.columns import Columns, Factor
from biasatlas.errors import UserError
from biasatlas.stages import StagedModel

if TYPE_CHECKING:
    import pandas as pd

    from biasatlas.benchmarks.shared.styles import Styles
    from biasatlas.resources import Resources

Kind = Literal["likelihood", "choice", "generation"]

#: Languages by their tag (BCP 47). Where ``resources/planted`` has a grammar of that name, models can be trained in it.
# fmt: off
LANGUAGES = {
    "ar": "Arabic", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "en": "English",
    "es": "Spanish", "eu": "Basque", "fa": "Persian", "fr": "French", "gl": "Galician", "hi": "Hindi",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese",
    "zh-Hans": "Simplified Chinese", "zh-Hant": "Traditional Chinese",
}
# fmt: on

#: Steps that read shipped files.
ReadingStep = Literal["items", "requests", "judge", "scores", "tables"]

#: The table that every benchmark has beside its own: the outcome of every request.
OUTCOMES = "outcomes"


class Options(StagedModel):
    """The options of a benchmark's protocols, without defaults: a protocol says everything it does."""


@dataclass(frozen=True)
class Metric:
    """One number that a table may hold.

    ``neutral`` is the value of an unbiased model (None where the metric measures no bias, as an accuracy does);
    ``direction`` says in words what values on either side of it mean; ``unit`` is empty for a pure number. One of the
    ``whole`` (a largest value, a rank) means something else on a part of the items, and is not given of it. A ``root``
    is that of a mean, with its sign.
    """

    neutral: float | None
    direction: str
    unit: str = ""
    whole: bool = False
    root: bool = False


@dataclass(frozen=True)
class Task:
    """One task of a benchmark: the kind of its requests, the categories its scores are filed under, their columns.

    A ``judged`` task is scored by what a judge model says of the answers; without a judge it is left out. ``masked``
    tasks are the ones that masked language models can answer too. ``file`` names a file of the user's own (one of the
    benchmark's ``files``) that the published data lack and the task cannot do without. ``ordered`` is a protocol's
    option and its value under which a judge orders each item's parts first. ``requests`` are its requests' own key
    columns. A task ``by_name`` is asked only where a section of the configuration names it under `tasks`.
    """

    kind: Kind
    categories: tuple[str, ...]
    scores: tuple[str, ...]
    requests: Columns = field(default_factory=dict)
    judged: bool = False
    masked: bool = False
    file: str = ""
    ordered: tuple[str, str] | None = None
    by_name: bool = False

    @property
    def is_framed(self) -> bool:
        """Whether it can be asked in other framings: a choice behind a prompt, in which no judge has a say."""
        return self.kind == "choice" and not self.judged and not self.ordered


@dataclass(frozen=True)
class Table:
    """One table: its caption, the tasks whose scores it reads, the published table it stands beside ('' if none).

    A table of no tasks is computed from published tables alone, or from ``file``, one of the benchmark's ``files``,
    where the configuration gives it, or, with published data, from the folder of ``source``, a row of ``sources.csv``.
    """

    caption: str
    tasks: tuple[str, ...]
    published: str = ""
    file: str = ""
    source: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure: its caption, and the tables of the same benchmark that it is drawn from."""

    caption: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Need:
    """What is needed where an ``option`` of a protocol has a ``value``, for ``tasks`` (empty: for all).

    Prompt templates: the ``step`` gets the folder of ``source`` (a row of ``resources/sources/sources.csv``) as
    ``templates/{source}``, and ``file`` (one of the benchmark's ``files``), which is the user's, as
    ``templates/{file}``. A protocol whose ``file`` is not given is left out; ``copied`` says what has to be copied into
    it.

    Setting: ``setting`` is what the entry of every model that is asked must have ("sampling.table8",
    "templates.paper"), or, where the need is of ``judges``, the entry of the judge.
    """

    option: str
    value: str
    tasks: tuple[str, ...] = ()
    step: Literal["requests", "judge"] = "requests"
    source: str = ""
    file: str = ""
    copied: str = ""
    setting: str = ""
    judges: bool = False


@dataclass(frozen=True)
class Confounder:
    """What is known to look like bias in a headline though it is none: ``says`` so in a sentence.

    ``moves`` is how far it was seen to move models without bias, in the metric's unit: a verdict needs that much more.
    None: as far as not to tell it from bias, so that nothing is claimed.
    """

    says: str
    moves: float | None = None


#: What lies below and above the null where a model takes sides.
STEREOTYPE = ("against the stereotype", "with the stereotype")


@dataclass(frozen=True)
class Headline:
    """One column of the index: a row of a table that answers one question about a model.

    ``rows`` fixes the key columns of ``table`` (but ``model``) whose row of ``metric`` is meant; ``by`` are those of
    them that open it: the rows with other values there are its parts. ``null`` is what a model without bias is expected
    to have; None: no such number is known, and there is no verdict. ``smallest`` is the least distance from it that
    matters, in the metric's unit, and ``reason`` says why it is that one (or why there is no null). ``parts`` are those
    of the benchmark's evidence (tasks or contexts) that the row is over; none where it has no parts. ``columns`` maps a
    key column to the column of scores that holds the same. ``confounders`` are what else is known to move its
    metric. ``own_null``: the run itself measures what else moves the metric, by
    placebos, so that a verdict needs no validity card.

    The report says what was found in everyday words: ``topic`` names what the question is about, ``times`` ends "3 ..."
    (a value in nats is said as a factor; empty: "times as likely", and "points" of all others), ``ends`` are what a
    size other than a factor is followed by below and above the null ("worse for ..."), ``means`` follows the topic and
    says what a bias of the size ``{}`` above the null is (on either side of it, where it is a factor, or the sentence
    has a ``{way}`` for one of the ``ends``), ``counted`` are what ``n`` counts, and ``note`` explains groups or a side
    that a reader may not know. A headline without a null needs none of them.
    """

    name: str
    question: str
    table: str
    rows: Mapping[str, str]
    metric: str
    null: float | None
    reason: str
    smallest: float = 0.0
    by: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    topic: str = ""
    times: str = ""
    means: str = ""
    ends: tuple[str, str] = ("", "")
    counted: str = "questions"
    note: str = ""
    confounders: tuple[Confounder, ...] = ()
    own_null: bool = False

    @property
    def margin(self) -> float:
        """How far its confounders are known to move the metric."""
        return max((spot.moves for spot in self.confounders if spot.moves is not None), default=0.0)

    @property
    def closed_by(self) -> str:
        """The confounders of no known limit, in words; empty where there are none."""
        return "; ".join(spot.says for spot in self.confounders if spot.moves is None)


@dataclass(frozen=True)
class ScoreView:
    """How a task's scores are read row by row.

    A row counts with the column ``score`` of its scores, less ``minus`` if one is named ("log x": the logarithm of x);
    ``neutral`` is what it is without bias, and ``unit`` its unit. ``key`` are the columns that tell a row from the
    others of its model. ``parts`` are the items that a row is about, each as columns of items -> columns of scores; it
    is found by the columns ``texts`` of the first. Where these are a context and two options, ``chosen`` may name for
    each part the column of scores with the probability (0 to 1) of the first option, and ``blank`` the mark in the
    texts that an item's column fills.
    """

    score: str
    minus: str = ""
    neutral: float = 0.0
    unit: str = ""
    key: tuple[str, ...] = ("item_id",)
    parts: tuple[Mapping[str, str], ...] = ({"item_id": "item_id"},)
    texts: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    blank: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Multiverse:
    """A row of a table (its keys and ``metric``) under every combination of values of some ``options``.

    All of them are marked "scores" or "tables": the responses stay as they are. ``tasks`` are those that the table
    reads. ``forms`` is a column of scores whose values are forms in which the same is asked (prompts, templates): the
    row is looked at in each of them alone, too.
    """

    table: str
    metric: str
    rows: Mapping[str, str]
    options: tuple[str, ...]
    tasks: tuple[str, ...]
    forms: str = ""

    @property
    def part(self) -> str:
        """The row in words."""
        return ", ".join(value for value in self.rows.values() if value not in ("all", "overall", "All", "available"))


@dataclass(frozen=True)
class Spec:
    """A benchmark as the workflow sees it.

    ``options`` is the class of its protocols. ``design`` names the factors that its items are nested or crossed in,
    from ``columns``. ``language``, of :data:`biasatlas.benchmarks.contract.LANGUAGES`, is that of its items.
    ``sources`` names rows of ``resources/sources/sources.csv`` that the real data come from; ``sample`` is the folder
    in ``resources/samples`` with data of our own in the same format. ``items`` are its items' columns. ``resources``
    maps a step to the shipped files it reads, as patterns below ``resources/``, or to those of each task where only
    some tasks read them; ``published/{name}_*.csv`` are always given to the step ``tables``. ``released`` maps the name
    of each published set of model outputs to the source that holds it; ``released_tasks`` are the tasks it answers,
    under the protocol ``released``. ``formats`` maps the name of each format of predictions that a user may bring to
    what its files are; they answer the same tasks. ``datasets`` are published data beside ``sources``: the sources of
    each, by what the key `data` calls it. ``files`` maps the name of each file that a user may add to what it holds;
    one that is no table's and no need's is read together with the data. ``requirements`` are what its protocols need
    that does not ship. ``published_under`` are the protocols that the printed numbers of models stand beside. ``reads``
    are the keys of a run that ``read_items`` takes by name. ``parser_version`` is part of what identifies an answer:
    raise it when one of its own parsers reads any reply otherwise. ``headlines`` are its columns in the report's
    overview; ``shown`` says how a task's scores are read one by one. Where models are compared by its scores, ``unit``
    are the columns that name an item's score, and ``multiverses`` the rows of its tables that are looked at under every
    choice of analysis. Where ``texts_published`` is false, models cannot be asked about its published data. Planted
    models that are ``taught_by_questions`` learn its own questions, and others the grammar of its language. ``note`` is
    said of it before anything is asked.
    """

    title: str
    language: str
    citation: str
    options: type[Options]
    sources: tuple[str, ...]
    sample: str
    items: Columns
    design: Mapping[str, Factor]
    tasks: Mapping[str, Task]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    metrics: Mapping[str, Metric]
    resources: Mapping[ReadingStep, tuple[str, ...] | Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    released: Mapping[str, str] = field(default_factory=dict)
    released_tasks: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    datasets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[Need, ...] = ()
    published_under: tuple[str, ...] = ("paper", "released")
    reads: tuple[str, ...] = ()
    parser_version: int = 0
    headlines: tuple[Headline, ...] = ()
    shown: Mapping[str, ScoreView] = field(default_factory=dict)
    unit: tuple[str, ...] = ()
    multiverses: tuple[Multiverse, ...] = ()
    texts_published: bool = True
    taught_by_questions: bool = False
    note: str = ""

    def sources_of(self, data: str) -> tuple[str, ...]:
        """The sources of published ``data``; none of a sample's, or of a user's folder."""
        return self.sources if data == "full" else self.datasets.get(data, ())


OfOptions = TypeVar("OfOptions", bound=Options)

#: Step -> what it is given beside ``spec`` (and ``description``, where the benchmark has one), in the order in which
#: the functions of :mod:`biasatlas.benchmarks.registry` take it.
GIVEN: Mapping[str, tuple[str, ...]] = {
    "read_items": ("files", "resources", "run"),
    "check_items": ("items", "resources", "run"),
    "build_requests": ("items", "task", "categories", "options", "resources", "orders"),
    "build_order_requests": ("items", "categories", "resources"),
    "build_judge_requests": ("items", "requests", "responses", "task", "options", "resources", "judgements"),
    "import_responses": ("release", "files", "items", "requests", "task"),
    "read_predictions": ("files", "items", "requests", "task", "column"),
    "score_responses": (*("items", "requests", "responses", "task", "category", "options", "resources", "judgements"),),
    "bias_roles": ("items", "requests", "task"),
    "table": ("scores", "options", "published", "published_as"),
    "figure": ("tables", "styles", "cards"),
    "evidence": ("scores", "options"),
}
#: What may be left out, and what stands in its place.
NOT_GIVEN: Mapping[str, Any] = {"run": {}, "orders": None, "judgements": None, "column": "", "cards": ()}


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Step(Generic[OfOptions]):
    """What one step of a benchmark may see, by name: the only argument of its function.

    ``name`` is the step's, of :data:`GIVEN`. A field that the step has not is an AttributeError that names both.

    ``files`` are raw files by their path upstream; ``run`` holds the keys of a run that ``spec.reads`` names.
    ``items``, ``requests``, ``responses`` and ``scores`` are frames, the latter of all models end to end (of one model,
    for evidence); of a table that is made from a file or folder of the user's own, ``scores`` is its path.
    ``judgements`` are a judge's replies so far, ``orders`` its replies where the task is ordered; None where there are
    none. ``published`` gives a table of ``resources/published`` by name, ``published_as`` maps our name of a model to
    the published one. ``release`` names one of ``spec.released``; ``column`` names the predictions meant, of several
    ('' if not said). ``tables`` are frames by name; ``styles`` gives every model its colour and marker; ``cards`` are
    the validity cards of the benchmark under the protocol.
    """

    name: str
    spec: "Spec"
    description: Any
    options: OfOptions
    resources: "Resources"
    files: "Mapping[str, Path]"
    run: Mapping[str, Any]
    task: str
    category: str
    categories: Sequence[str]
    items: "pd.DataFrame"
    requests: "pd.DataFrame"
    responses: "pd.DataFrame"
    judgements: "pd.DataFrame | None"
    orders: "pd.DataFrame | None"
    release: str
    column: str
    scores: Any
    published: "Callable[[str], pd.DataFrame]"
    published_as: Mapping[str, str]
    tables: "Mapping[str, pd.DataFrame]"
    styles: "Styles"
    cards: "Sequence[Mapping[str, Any]]"

    def __init__(self, name: str, **given: Any) -> None:
        unknown = given.keys() - {"spec", "description", *GIVEN[name]}
        if unknown:
            raise TypeError(
                f"the step {name} takes no {', '.join(sorted(unknown))}; it takes {', '.join(GIVEN[name])}."
            )
        left_out = {field: NOT_GIVEN[field] for field in GIVEN[name] if field in NOT_GIVEN}
        self.__dict__.update(left_out | given, name=name)

    if not TYPE_CHECKING:  # to a type checker it would give every name a value

        def __getattr__(self, field: str) -> NoReturn:
            name = self.__dict__.get("name")
            given = ", ".join(sorted(self.__dict__.keys() - {"name"}))
            raise AttributeError(f"step.{field}: the step {name} has none; it has {given}.", name=field, obj=self)


F = TypeVar("F", bound=Callable)

#: (benchmark, name) -> function, filled when a benchmark's modules are imported.
TABLES: dict[tuple[str, str], Callable] = {}
FIGURES: dict[tuple[str, str], Callable] = {}
METRICS: dict[tuple[str, str], Callable] = {}


def table(*names: str) -> Callable[[F], F]:
    """Mark a function as the maker of the tables ``names``, of the benchmark or family in whose folder it stands."""
    return _register(TABLES, names)


def figure(*names: str) -> Callable[[F], F]:
    """Mark a function as the painter of the figures ``names``, of the benchmark or family in whose folder it stands."""
    return _register(FIGURES, names)


def metric(*names: str) -> Callable[[F], F]:
    """Mark the one function, of the benchmark or ``benchmarks.shared``, that computes the metrics ``names``."""
    return _register(METRICS, names)


def _register(functions: dict, names: tuple[str, ...]) -> Callable[[F], F]:
    def mark(function: F) -> F:
        benchmark = function.__module__.partition(".benchmarks.")[2].removeprefix("families.").partition(".")[0]
        for name in names:
            if (benchmark, name) in functions:
                raise UserError(f"benchmark {benchmark}: two functions are marked with the name {name!r}.")
            functions[benchmark, name] = function
        return function

    return mark
