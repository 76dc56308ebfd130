"""What a benchmark declares about itself: the part of it that the workflow reads before any job runs.

Imports nothing heavy, so that planning stays fast.
"""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["likelihood", "choice", "generation"]

#: Languages by their tag (BCP 47), which also names the grammar in ``resources/planted`` of the models trained in it.
LANGUAGES = {"en": "English", "zh-Hans": "Simplified Chinese", "zh-Hant": "Traditional Chinese"}


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
    """One task of a benchmark: the kind of its requests, and the categories that its scores are filed under.

    A ``judged`` task is scored by what a judge model says of the answers; without a judge it is left out. ``masked``
    tasks are the ones that masked language models can answer too. ``file`` names a file of the user's own (one of the
    benchmark's ``files``) that the published data lack and the task cannot do without. ``ordered`` is a protocol's option
    and its value under which a judge is asked for the order of each item's parts before requests are built.
    """

    kind: Kind
    categories: tuple[str, ...]
    judged: bool = False
    masked: bool = False
    file: str = ""
    ordered: tuple[str, str] | None = None


@dataclass(frozen=True)
class Table:
    """One table: its caption, the tasks whose scores it reads, the published table it stands beside ('' if none).

    A table of no tasks is computed from published tables alone, or from ``file``, a file of the user's own (one of the
    benchmark's ``files``), and then made only where the configuration gives it.
    """

    caption: str
    tasks: tuple[str, ...]
    published: str = ""
    file: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure: its caption, and the tables of the same benchmark that it is drawn from."""

    caption: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as the workflow sees it.

    ``language`` is one of :data:`LANGUAGES`, that of its items.
    ``sources`` names rows of ``resources/sources.csv`` (column ``source``) that the real data come from;
    ``sample`` is the folder in ``resources/`` with data of our own in the same format, for the demo.
    ``released`` maps the name of each published set of model outputs to the source that holds it;
    ``released_tasks`` are the tasks it answers, always under the protocol named ``released``. ``files`` maps the name of
    each file that a user may add to what it holds; one that is no table's is read together with the data.
    """

    title: str
    language: str
    citation: str
    sources: tuple[str, ...]
    sample: str
    tasks: dict[str, Task]
    tables: dict[str, Table]
    figures: dict[str, Figure]
    metrics: dict[str, Metric]
    released: dict[str, str] = field(default_factory=dict)
    released_tasks: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
