"""The entry of published or own outputs in the configuration, and what the kind ``released`` can do."""

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from biasatlas.models.entry import Entry
from biasatlas.models.interface import Kind
from biasatlas.models.released import VERSION
from biasatlas.sources import names_in
from biasatlas.stages import field

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec

#: The format of another run's responses, which may answer any task.
OWN = "responses"


class ReleasedEntry(Entry):
    """Outputs that a benchmark's authors published, or your own ([own.md](own.md)): nothing is asked."""

    kind: Literal["released"] = field("answers", description="How the model is reached; its other keys depend on it.")
    benchmark: str = field("answers", description="Benchmark that the outputs answer, by its name under `benchmarks`.")
    release: str = field(
        "answers",
        "",
        description="Name of published outputs, such as DBB's `gpt-4o`. They are measured under the protocol "
        "`released`.",
    )
    path: str = field(
        "answers",
        "",
        description="Your outputs, in place of `release`: a file, a folder or a pattern, such as `./run/*.jsonl`.",
    )
    format: str = field(
        "answers",
        "",
        description="Format of the files at `path` (docs/own.md); required if the benchmark has several.",
    )
    column: str = field("answers", "", description="Field or model to read, if the files at `path` hold several.")

    @model_validator(mode="after")
    def _one_of_two(self) -> "ReleasedEntry":
        if bool(self.release) == bool(self.path):
            raise ValueError("give either `release`, the name of published outputs, or `path`, outputs of your own")
        if self.release and (self.format or self.column):
            raise ValueError("`format` and `column` are for outputs at a `path`; leave them out")
        return self

    @property
    def files(self) -> dict[str, str]:
        """Path below the folder -> path here, for the files at ``path``; both are the same unless that is a folder."""
        path = Path(self.path)
        if path.is_dir():
            return {name: str(path / name) for name in names_in(path)}
        return {name: name for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()}


def _tasks(entry: ReleasedEntry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    if entry.benchmark != benchmark:
        return ()
    return tuple(spec.tasks) if entry.path and format_of(entry, spec) == OWN else spec.released_tasks


def format_of(entry: ReleasedEntry, spec: "Spec") -> str:
    """The format of a user's own outputs: the entry's, else the only one; '' if several might be meant."""
    return entry.format or (next(iter(spec.formats), OWN) if len(spec.formats) < 2 else "")


KIND = Kind(
    entry=ReleasedEntry,
    open="biasatlas.models.released.answer:open_released",
    tasks=_tasks,
    ready=lambda entry: "release" if entry.release else "files",
    environment=lambda entry: "data",
    writes=False,
    version=VERSION,
    protocol=lambda entry: "released" if entry.release else None,
)
