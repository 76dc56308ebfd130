"""The entry of published outputs in the configuration, and what the kind ``released`` can do."""

from typing import TYPE_CHECKING, Literal, cast

from biasatlas.marks import field
from biasatlas.models.entry import Entry, Kind
from biasatlas.models.released import VERSION

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec
    from biasatlas.models.door import Model, Opening


class ReleasedEntry(Entry):
    """Model outputs published by a benchmark's authors, imported as responses."""

    kind: Literal["released"] = field("tables", description="What the model is.")
    benchmark: str = field("answers", description="The benchmark whose authors published them.")
    release: str = field("answers", description="Which of the benchmark's published sets of outputs.")


def _tasks(entry: ReleasedEntry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    return spec.released_tasks if entry.benchmark == benchmark else ()


def _open(opening: "Opening") -> "Model":
    from biasatlas.models.released.answer import open_released  # imports pandas

    return open_released(opening, cast(ReleasedEntry, opening.entry))


KIND = Kind(
    entry=ReleasedEntry,
    open=_open,
    tasks=_tasks,
    ready=lambda entry: "release",
    environment=lambda entry: "data",
    writes=False,
    version=VERSION,
    protocol="released",
)
