"""What a benchmark is: a declaration that the workflow plans with, and a function for each of its steps.

A benchmark is a folder of :mod:`biasatlas.benchmarks`. Its module ``spec`` holds SPEC, a :class:`Spec`; the functions
and constants below may be in any of its modules, and are found by name. Each function takes one argument, a
:class:`Step`, which holds only what the step may see (:data:`GIVEN`):

``read_items``        turns raw files into items; ``check_items`` (optional) checks them against published counts
``build_requests``    turns items into the requests of one task
``score_responses``   turns responses into the scores of one category
:func:`table`         marks functions that turn all models' scores into a table; :func:`figure`: those that draw tables
``PARSERS``           parsers of replies beside those of :mod:`biasatlas.benchmarks.shared.parsing`
``bias_roles``        what a request is about, for models of kind ``simulated``; TEXTS: columns whose words they count
``build_judge_requests``, ``build_order_requests``    what a judge is asked
``import_responses``  turns published outputs into a response for each request; FORMATS: the same for formats of users
``evidence``          turns a model's scores into what models are compared by, if its spec has a ``unit``
``CHECKS``            checks of the beginning of a user's file

A benchmark that a YAML file describes uses the functions of its family, in :mod:`biasatlas.benchmarks.families`, which
read the description from ``step.description``. If it has a folder, that holds the file as ``spec.yaml``, and functions
that replace the family's or make additional tables. Keep imports here light: planning loads only specs.
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

#: BCP 47 tag -> language. Models can be trained in a language if ``resources/planted`` has a grammar of that name.
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

#: The table that every benchmark has in addition to its own: the outcomes of its requests.
OUTCOMES = "outcomes"


class Options(StagedModel):
    """The options of a benchmark's protocols. They have no defaults: each protocol sets every option."""


@dataclass(frozen=True)
class Metric:
    """One number that a table may hold.

    ``neutral`` is the value of an unbiased model (None if the metric, like an accuracy, measures no bias);
    ``direction`` says in words what values on either side of it mean; ``unit`` is empty for a pure number. ``whole``:
    on part of the items the metric (a largest value, a rank) would mean something else, so it is missing there.
    ``root``: the metric is the square root of a mean, with the mean's sign.
    """

    neutral: float | None
    direction: str
    unit: str = ""
    whole: bool = False
    root: bool = False


@dataclass(frozen=True)
class Task:
    """One task of a benchmark: the kind of its requests, the categories of its scores, and the scores' columns.

    A ``judged`` task is scored by what a judge model says about the answers; without a judge it is left out.
    ``masked``: masked language models can answer it, too. ``file`` names the one of the benchmark's ``files`` that the
    task needs and the published data lack; the user adds it. ``ordered`` is (option, value): under a protocol with that
    value, a judge first orders each item's parts. ``requests`` are the additional key columns of its requests. A task
    ``by_name`` is asked only if the benchmark's section of the configuration names it under `tasks`.
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
        """Whether it can be asked in other framings: it is a choice, and no judge is involved."""
        return self.kind == "choice" and not self.judged and not self.ordered


@dataclass(frozen=True)
class Table:
    """One table: its caption, the tasks whose scores it reads, the published table to compare it with ('' if none).

    A table without tasks is computed from one of three inputs: published tables; ``file``, one of the benchmark's
    ``files``, if the configuration gives it; or, with published data, the folder of ``source``, a row of
    ``sources.csv``.
    """

    caption: str
    tasks: tuple[str, ...]
    published: str = ""
    file: str = ""
    source: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure: its caption, and the tables of the benchmark that it is drawn from."""

    caption: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Need:
    """What ``tasks`` (empty: all) need under a protocol whose ``option`` has this ``value``.

    Either prompt templates: the ``step`` gets the folder of ``source`` (a row of ``resources/sources/sources.csv``) as
    ``templates/{source}``, and the user's ``file`` (one of the benchmark's ``files``) as ``templates/{file}``. A
    protocol whose ``file`` the configuration does not give is left out; ``copied`` says what the user has to copy into
    the file.

    Or a setting: the entry of every model that is asked (with ``judges``: of the judge) must have ``setting``, such as
    "sampling.table8" or "templates.paper".
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
    """Something that is not bias, but is known to move a headline's metric; ``says`` so in a sentence.

    ``moves`` is how far it was seen to move models without bias, in the metric's unit: a verdict needs that much more.
    None: no limit is known, so bias cannot be distinguished from it, and the headline gets no verdict.
    """

    says: str
    moves: float | None = None


#: The ``ends`` of headlines about stereotypes: what values below and above the null mean.
STEREOTYPE = ("against the stereotype", "with the stereotype")


@dataclass(frozen=True)
class Headline:
    """One column of the index: a row of a table that answers one question about a model.

    ``rows`` gives the values of ``table``'s key columns (except ``model``) that select the row of ``metric``. ``by``
    are those of these columns in which the headline's parts differ: rows with other values there are its parts.
    ``null`` is the expected value of a model without bias; None: it is not known, and there is no verdict. ``smallest``
    is the smallest effect that matters, in the metric's unit, and ``reason`` says why it is this one (or why there is
    no null). ``parts`` are the parts of the benchmark's evidence (tasks or contexts) that the row is over; empty if the
    evidence has none. ``columns`` maps a key column to the column of scores with the same values. ``confounders`` are
    known to move the metric. ``own_null``: the run's placebos measure what else moves the metric, so a verdict needs no
    validity card.

    The other fields put the result into everyday words in the report; a headline without a null needs none of them.
    ``topic`` names what the question is about. ``times`` is the unit after a size (default: "times as likely" after the
    factor that a value in nats is shown as, "points" after others). ``ends`` follow a size that is not a factor: below
    the null, and above ("worse for ..."). ``means`` follows the topic, and says what a bias of size ``{}`` is: above
    the null, or on either side if the size is a factor or the sentence has a ``{way}``, which stands for one of the
    ``ends``. ``counted`` names what ``n`` counts. ``note`` explains groups or sides that readers may not know.
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
        """The farthest that any of its confounders is known to move the metric; 0 without one."""
        return max((spot.moves for spot in self.confounders if spot.moves is not None), default=0.0)

    @property
    def closed_by(self) -> str:
        """The confounders without a known limit, in words; empty if there are none."""
        return "; ".join(spot.says for spot in self.confounders if spot.moves is None)


@dataclass(frozen=True)
class ScoreView:
    """How the report shows a task's scores row by row.

    A row's value is its column ``score``, less the column ``minus`` if one is named ("log x": the logarithm of x);
    ``neutral`` is the value without bias, and ``unit`` its unit. The columns ``key`` identify a row among those of its
    model. ``parts`` are the items that a row is about, each as column of items -> column of scores. ``texts`` are the
    columns of items that the report shows and searches for words. If these are a context and two options, ``chosen``
    may name, for each part, the column of scores with the probability (0 to 1) of the first option; ``blank`` is then a
    mark in the texts, and the column of items whose words replace it.
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
    """A row of a table (its keys and ``metric``), recomputed under every combination of values of some ``options``.

    These options change "scores" or "tables", never the responses. ``tasks`` are those that the table reads. ``forms``
    is a column of scores that tells in which form (prompt, template) something was asked: the row is also computed for
    each form alone.
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

    ``options`` is the class of its protocols' options. ``design`` names the factors (:class:`biasatlas.columns.Factor`)
    that its items are nested or crossed in. ``language`` is that of its items, a tag in :data:`LANGUAGES`. ``sources``
    names the rows of ``resources/sources/sources.csv`` that the real data come from; ``sample`` is the folder in
    ``resources/samples`` with our own data in the same format. ``items`` are its items' columns. ``resources`` maps a
    step to the shipped files it reads, as patterns below ``resources/``, or, if only some tasks read them, to each
    task's; the step ``tables`` always gets ``published/{name}_*.csv``. ``released`` maps each published set of model
    outputs to its source; ``released_tasks`` are the tasks it answers, under the protocol ``released``. ``formats``
    maps each format of predictions that a user may bring to what its files are; they answer the same tasks.
    ``datasets`` are other published data than ``sources``: the name in the key `data` -> sources. ``files`` maps each
    file that a user may add to what it holds; one that neither a table nor a need names is read together with the data.
    ``requirements`` are what its protocols need that does not ship. ``published_under`` are the protocols whose results
    are shown beside models' published numbers. ``reads`` are the keys of a run that ``read_items`` gets as
    ``step.run``. ``parser_version`` is part of an answer's identity: raise it when one of the benchmark's own parsers
    parses any reply differently. ``headlines`` are its columns in the report's overview; ``shown`` says how the report
    shows each task's scores row by row. If models are compared by its scores, ``unit`` are the columns that identify an
    item's score, and ``multiverses`` the table rows that are recomputed under every choice of analysis. Unless
    ``texts_published``, models cannot be asked about its published data. ``taught_by_questions``: planted models learn
    its own questions; else they learn the grammar of its language. ``note`` is shown at every start of a run.
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
        """The sources of published ``data``; empty for a sample or a user's folder."""
        return self.sources if data == "full" else self.datasets.get(data, ())


OfOptions = TypeVar("OfOptions", bound=Options)

#: Step -> what it is given besides ``spec`` (and ``description``, if the benchmark has one), in the order in which
#: functions from :mod:`biasatlas.benchmarks.registry` take it.
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
#: Arguments that callers may leave out, and their defaults.
NOT_GIVEN: Mapping[str, Any] = {"run": {}, "orders": None, "judgements": None, "column": "", "cards": ()}


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Step(Generic[OfOptions]):
    """What one step of a benchmark may see, by name: the only argument of its function.

    ``name`` is the step's name in :data:`GIVEN`. Any field that the step is not given raises an AttributeError.

    ``files`` are raw files by their path upstream; ``run`` holds the keys of a run that ``spec.reads`` names.
    ``items``, ``requests``, ``responses`` and ``scores`` are frames. ``scores`` has the rows of all models (for
    evidence, of one); for a table made from a file or folder, it is the path of that. ``judgements`` are a judge's
    replies so far, ``orders`` its replies about the order of parts; None where there are none. ``published`` returns
    the table of ``resources/published`` with a given name; ``published_as`` maps our name of a model to the published
    one. ``release`` names one of ``spec.released``; ``column`` names the predictions to read, if a file has several
    ('' if not given). ``tables`` are frames by name; ``styles`` gives every model its colour and marker; ``cards`` are
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
    """Mark a function that makes the tables ``names`` of the benchmark or family whose folder holds it."""
    return _register(TABLES, names)


def figure(*names: str) -> Callable[[F], F]:
    """Mark a function that draws the figures ``names`` of the benchmark or family whose folder holds it."""
    return _register(FIGURES, names)


def metric(*names: str) -> Callable[[F], F]:
    """Mark the only function of a benchmark, its family or ``benchmarks.shared`` that computes metrics ``names``."""
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
