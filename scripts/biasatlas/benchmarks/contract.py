"""What a benchmark is: a declaration that the workflow plans with, and a function for each of its steps.

A benchmark is a folder of :mod:`biasatlas.benchmarks` with a module per step:

``spec``      SPEC, a :class:`Spec`: tasks, tables, figures, metrics, and every text of its own that people read
``options``   its protocol's :class:`Options`, each marked with what it changes
``columns``   columns of its items, requests and scores
``items``     ``read_items``, a :class:`ReadItems`; ``check_items`` where published data can be held against printed counts
``requests``  ``build_requests``, a :class:`BuildRequests`
``scores``    ``score_responses``, a :class:`ScoreResponses`
``tables``    functions marked with :func:`table` (in a module or a package)
``figures``   functions marked with :func:`figure`
``readers``   READERS, ways to read a reply beside those of :mod:`biasatlas.benchmarks.shared.readers` (if it needs any)
``roles``     ``roles``, a :class:`SayRoles`, and TEXTS: what a request is about, for models of kind ``known`` (if they can answer)
``judge``     ``build_judge_requests`` and ``build_order_requests`` (if a judge takes part)
``released``  ``import_responses``, an :class:`ImportResponses` (if outputs were published); FORMATS, each a
              :class:`ReadPredictions`, by the name that an entry gives (if users may bring outputs of their own)

A benchmark that a YAML file describes has no folder: its family's modules, in :mod:`biasatlas.benchmarks.families`, take the
description before all else. Nothing heavy is imported here: planning reads specs alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from biasatlas.benchmarks.needs import Need
from biasatlas.benchmarks.views import Headline, Shown
from biasatlas.columns import Columns, Factor
from biasatlas.errors import UserError
from biasatlas.marks import Marked

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from biasatlas.benchmarks.shared.palette import Looks
    from biasatlas.benchmarks.shared.roles import Roles
    from biasatlas.resources import Resources

Kind = Literal["likelihood", "choice", "generation"]

#: Steps that read shipped files.
Step = Literal["items", "requests", "judge", "scores", "tables"]

#: The table that every benchmark has beside its own: what became of every answer.
REPLIES = "replies"


class Options(Marked):
    """The options of a benchmark's protocols, without defaults: a protocol says everything it does."""


@dataclass(frozen=True)
class Metric:
    """One number that a table may hold.

    ``neutral`` is the value of an unbiased model (None where the metric measures no bias, as an accuracy does);
    ``direction`` says in words what values on either side of it mean; ``unit`` is empty for a pure number.
    """

    neutral: float | None
    direction: str
    unit: str = ""


@dataclass(frozen=True)
class Task:
    """One task of a benchmark: the kind of its requests, the categories its scores are filed under, their columns.

    A ``judged`` task is scored by what a judge model says of the answers; without a judge it is left out. ``masked``
    tasks are the ones that masked language models can answer too. ``file`` names a file of the user's own (one of the
    benchmark's ``files``) that the published data lack and the task cannot do without. ``ordered`` is a protocol's option
    and its value under which a judge orders each item's parts first. ``requests`` are its requests' own key columns.
    """

    kind: Kind
    categories: tuple[str, ...]
    scores: tuple[str, ...]
    requests: Columns = field(default_factory=dict)
    judged: bool = False
    masked: bool = False
    file: str = ""
    ordered: tuple[str, str] | None = None


@dataclass(frozen=True)
class Table:
    """One table: its caption, the tasks whose scores it reads, the published table it stands beside ('' if none).

    A table of no tasks is computed from published tables alone, or from ``file``, one of the benchmark's ``files``, where
    the configuration gives it, or, with published data, from the folder of ``source``, a row of ``sources.csv``.
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
class Spec:
    """A benchmark as the workflow sees it.

    ``options`` is the class of its protocols. ``design`` names the factors that its items are nested or crossed in, from
    ``columns``. ``language``, of :data:`biasatlas.benchmarks.languages.LANGUAGES`, is that of its items. ``sources`` names rows of
    ``resources/sources/sources.csv`` that the real data come from; ``sample`` is the folder in ``resources/samples`` with
    data of our own in the same format. ``items`` are its items' columns. ``resources`` maps a step to the shipped files it
    reads, as patterns below ``resources/``; ``published/{name}_*.csv`` are always given to the step ``tables``.
    ``released`` maps the name of each published set of model outputs to the source that holds it; ``released_tasks`` are
    the tasks it answers, under the protocol ``released``. ``formats`` maps the name of each format of predictions that a
    user may bring to what its files are; they answer the same tasks. ``files`` maps the name of each file that a user may
    add to what it holds; one that is no table's and no need's is read together with the data.
    ``needs`` is what its protocols need that does not ship. ``printed_under`` are the protocols that the printed numbers
    of models stand beside. ``reads`` are the keys of a run that ``read_items`` takes by name. ``readers_version`` is part of
    what identifies an answer: raise it when one of its own readers reads any reply otherwise. ``headlines`` are its columns
    in the report's overview; ``shown`` says how a task's scores are read one by one.
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
    resources: Mapping[Step, tuple[str, ...]] = field(default_factory=dict)
    released: Mapping[str, str] = field(default_factory=dict)
    released_tasks: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    printed_under: tuple[str, ...] = ("paper", "released")
    reads: tuple[str, ...] = ()
    readers_version: int = 0
    headlines: tuple[Headline, ...] = ()
    shown: Mapping[str, Shown] = field(default_factory=dict)


class ReadItems(Protocol):
    """Raw files, by path upstream, to items, a row each; UserError with file, row and value for another format."""

    def __call__(self, files: "Mapping[str, Path]", resources: "Resources", **run: Any) -> "pd.DataFrame": ...


class CheckItems(Protocol):
    """Hold the published data's items against printed counts: remarks on accepted differences, else a UserError."""

    def __call__(self, items: "pd.DataFrame", resources: "Resources", **run: Any) -> list[str]: ...


class BuildRequests(Protocol):
    """Items to the requests of one task; ``orders`` are a judge's replies where the task is ordered."""

    def __call__(
        self,
        items: "pd.DataFrame",
        task: str,
        categories: Sequence[str],
        options: Any,
        resources: "Resources",
        orders: "pd.DataFrame | None" = None,
    ) -> "pd.DataFrame": ...


class BuildJudgeRequests(Protocol):
    """Responses to the requests that a judge is asked; ``judgements`` are its replies so far."""

    def __call__(
        self,
        items: "pd.DataFrame",
        requests: "pd.DataFrame",
        responses: "pd.DataFrame",
        task: str,
        options: Any,
        resources: "Resources",
        judgements: "pd.DataFrame | None" = None,
    ) -> "pd.DataFrame": ...


class BuildOrderRequests(Protocol):
    """Items to the requests by which a judge is asked for the order of each item's parts."""

    def __call__(self, items: "pd.DataFrame", categories: Sequence[str], resources: "Resources") -> "pd.DataFrame": ...


class ImportResponses(Protocol):
    """Published outputs, by their path upstream, to a response for each request."""

    def __call__(
        self, name: str, files: "Mapping[str, Path]", items: "pd.DataFrame", requests: "pd.DataFrame", task: str
    ) -> "pd.DataFrame": ...


class SayRoles(Protocol):
    """What the requests of a task, or a judge's about them, are about; ``items`` are all of the benchmark."""

    def __call__(self, items: "pd.DataFrame", requests: "pd.DataFrame", task: str) -> "Roles": ...


class ReadPredictions(Protocol):
    """A user's own predictions, by path, to a response for each request; ``column`` names those meant, of several."""

    def __call__(
        self,
        files: "Mapping[str, Path]",
        items: "pd.DataFrame",
        requests: "pd.DataFrame",
        task: str,
        column: str = "",
    ) -> "pd.DataFrame": ...


class ScoreResponses(Protocol):
    """Responses to one category's scores, with the columns that the task declares."""

    def __call__(
        self,
        items: "pd.DataFrame",
        requests: "pd.DataFrame",
        responses: "pd.DataFrame",
        task: str,
        category: str,
        options: Any,
        resources: "Resources",
        judgements: "pd.DataFrame | None" = None,
    ) -> "pd.DataFrame": ...


class MakeTable(Protocol):
    """Scores end to end (or a file, or a folder) to a table; ``published_as`` maps our name of a model to that in print."""

    def __call__(
        self,
        scores: Any,
        options: Any,
        published: "Callable[[str], pd.DataFrame]",
        published_as: Mapping[str, str],
    ) -> "pd.DataFrame": ...


class DrawFigure(Protocol):
    """Tables by name to a figure; ``looks`` gives every model its colour and marker."""

    def __call__(self, tables: "Mapping[str, pd.DataFrame]", looks: "Looks") -> "Drawing": ...


F = TypeVar("F", bound=Callable)

#: (benchmark, name) -> function, filled when a benchmark's modules are imported.
TABLES: dict[tuple[str, str], MakeTable] = {}
FIGURES: dict[tuple[str, str], DrawFigure] = {}
METRICS: dict[tuple[str, str], Callable] = {}


def table(*names: str) -> Callable[[F], F]:
    """Mark a function as the maker of the tables ``names`` of the benchmark, or the family, in whose folder it stands."""
    return _register(TABLES, names)


def figure(*names: str) -> Callable[[F], F]:
    """Mark a function as the painter of the figures ``names`` of the benchmark, or the family, in whose folder it stands."""
    return _register(FIGURES, names)


def metric(*names: str) -> Callable[[F], F]:
    """Mark the one function (of the benchmark or ``benchmarks.shared``) that computes and defines the metrics ``names``."""
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
