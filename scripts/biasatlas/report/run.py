"""What the site is made from: a run of the workflow, as the script that writes the report passes it on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biasatlas.benchmarks.comparisons.findings import of_benchmark
from biasatlas.benchmarks.contract import Spec
from biasatlas.benchmarks.registry import spec_view
from biasatlas.resources import Resources


@dataclass(frozen=True)
class ModelRun:
    """Where a model's answers to one task lie, and what was made of them.

    ``judged`` are a judge's requests and responses about them, where a judge graded the answers; ``tokens`` is a file
    of their log-likelihoods token by token (:mod:`biasatlas.workflow.finished`), '' where there is none.
    """

    model: str
    scores: str
    responses: str
    judged: tuple[str, str] | None = None
    tokens: str = ""


@dataclass(frozen=True)
class TaskRun:
    """One task of a run: its requests, and who answered them."""

    task: str
    requests: str
    answers: Sequence[ModelRun]


@dataclass(frozen=True)
class Run:
    """A benchmark under a protocol, by its name in the configuration.

    ``data`` is "full", another published set, "sample" or the user's folder; ``left_out`` has sentences on tasks;
    ``tables`` and ``figures`` map names to paths; ``items`` is a path; ``in_rounds``: its models are asked in rounds.
    """

    name: str
    protocol: str
    benchmark: str
    data: str
    left_out: Sequence[str]
    tables: Mapping[str, str]
    figures: Mapping[str, str]
    items: str = ""
    asked: Sequence[TaskRun] = ()
    in_rounds: bool = False

    @property
    def key(self) -> str:
        """Its name in links and files."""
        return f"{self.name}.{self.protocol}"

    @property
    def spec(self) -> Spec:
        """What its benchmark declares."""
        return spec_view(self.benchmark, "page")

    @property
    def title(self) -> str:
        """Its name for people, without the protocol."""
        return self.spec.title if self.name == self.benchmark else f"{self.spec.title} ({self.name})"

    @property
    def source(self) -> str:
        """Its name, and its protocol unless it is ours."""
        return self.title + ("" if self.protocol == "recommended" else f" under {self.protocol}")


@dataclass(frozen=True)
class Comparison:
    """A table (CSV) or figure (SVG) across benchmarks, and where it is; ``kind`` is "table" or "figure"."""

    kind: str
    protocol: str
    name: str
    caption: str
    path: str


@dataclass(frozen=True)
class Study:
    """All that the site is made from.

    ``models`` are the configuration's entries by name. ``paid`` maps the name of an endpoint to the metadata of its
    responses, one for each task. ``missing`` are sentences on what failed to be made. ``cards`` are the metrics'
    validity cards (:func:`biasatlas.simulation.validity.cards`). ``replication`` is a CSV of printed numbers beside
    ours and ``claims`` one of the papers' claims, '' where there is none; ``published`` are the printed tables;
    ``summaries`` are files {model}.md, .tex and .json; ``contributions`` are files of what items add, by protocol.
    ``version`` is the workflow's, ``date`` the day on which the site was written.
    """

    runs: Sequence[Run]
    models: Mapping[str, Mapping[str, Any]]
    comparisons: Sequence[Comparison] = ()
    paid: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    missing: Sequence[str] = ()
    cards: Sequence[Mapping[str, Any]] = ()
    replication: str = ""
    claims: str = ""
    published: Resources | None = None
    summaries: Sequence[str] = ()
    contributions: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    date: str = ""

    @property
    def ids(self) -> dict[str, str]:
        """Model -> its name in files and charts, which we choose, not the user."""
        return {model: f"m{place}" for place, model in enumerate(self.models)}

    @property
    def texts(self) -> list[str]:
        """The summaries that people read; those for programs, as large as all pages together, stay in the results."""
        return [path for path in self.summaries if not path.endswith(".json")]

    def cards_of(self, run: Run) -> list[Mapping[str, Any]]:
        """The cards of a run's benchmark."""
        return of_benchmark(self.cards, run.benchmark, run.protocol, run.in_rounds)

    def failed(self, run: Run, model: str) -> bool:
        """Whether a job failed that the numbers of ``model`` in a run need."""
        said = [sentence.partition(": ")[0] for sentence in self.missing if sentence.startswith(f"model {model} in ")]
        return any(f" {run.name} ({run.protocol})" in places for places in said)

    def findings(self, protocol: str) -> str:
        """The path of the table of all tests under ``protocol``; '' if there is none."""
        named = (
            part.path
            for part in self.comparisons
            if (part.kind, part.name) == ("table", "findings") and part.protocol == protocol
        )
        return next(named, "")

    @property
    def is_demonstration(self) -> bool:
        """Whether its numbers say nothing about any real model."""
        return any(run.data == "sample" for run in self.runs) or all(
            entry["kind"] in ("planted", "simulated") for entry in self.models.values()
        )


def folder_of(data: Path, run: Run, task: str) -> Path:
    """The folder of the data behind a task's items."""
    return data / f"{run.key}.{task}"
