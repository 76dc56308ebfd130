"""A masked language model's entry in the configuration, and what the kind ``masked`` can do."""

from typing import TYPE_CHECKING, Literal, cast

from biasatlas.marks import field
from biasatlas.models.entry import HubEntry, Kind, fetched, pinned_revision
from biasatlas.models.local.entry import environment
from biasatlas.models.masked import VERSION

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec
    from biasatlas.models.door import Model, Opening


class MaskedEntry(HubEntry):
    """A masked language model in Hugging Face format, run in process; it answers the tasks made for its kind."""

    kind: Literal["masked"] = field("tables", description="What the model is.")
    size_billion: float = field(
        "nothing",
        0.5,
        gt=0,
        le=10_000,
        description="Parameters, in billions; memory and run time are requested from it.",
    )
    gpu: int = field("nothing", 0, ge=0, le=64, description="GPUs that one job takes; 0 runs on the CPU.")


def _tasks(entry: MaskedEntry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    return tuple(name for name, task in spec.tasks.items() if task.masked)


def _open(opening: "Opening") -> "Model":
    from biasatlas.models.masked.answer import load  # imports torch

    entry = cast(MaskedEntry, opening.entry)
    return load(entry.source, revision=pinned_revision(entry, opening.ready))


def _check(opening: "Opening") -> None:
    from biasatlas.models.hub import model_folder
    from biasatlas.models.masked.answer import check_folder  # imports transformers

    entry = cast(MaskedEntry, opening.entry)
    check_folder(model_folder(entry.source, pinned_revision(entry, opening.ready)), entry.source)


KIND = Kind(
    entry=MaskedEntry,
    open=_open,
    tasks=_tasks,
    ready=fetched,
    environment=environment,
    writes=False,
    version=VERSION,
    check=_check,
    threads=8,
)
