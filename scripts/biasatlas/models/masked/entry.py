"""A masked language model's entry in the configuration, and what the kind ``masked`` can do."""

from typing import TYPE_CHECKING, Literal

from biasatlas.models.entry import HubEntry, environment, fetched
from biasatlas.models.interface import Kind
from biasatlas.models.masked import VERSION
from biasatlas.stages import field

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec


class MaskedEntry(HubEntry):
    """A masked language model in Hugging Face format, run locally. It answers only the task `pair`."""

    kind: Literal["masked"] = field("answers", description="How the model is reached; its other keys depend on it.")
    size_billion: float = field(
        "nothing",
        0.5,
        gt=0,
        le=10_000,
        description="Parameters in billions, from which follow the memory and the time that a job asks for.",
    )
    gpu: int = field("nothing", 0, ge=0, le=64, description="GPUs of a job; 0: the CPU.")


def _tasks(entry: MaskedEntry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    return tuple(name for name, task in spec.tasks.items() if task.masked)


KIND = Kind(
    entry=MaskedEntry,
    open="biasatlas.models.masked.answer:open_masked",
    check="biasatlas.models.masked.answer:check_model",
    tasks=_tasks,
    ready=fetched,
    environment=environment,
    writes=False,
    version=VERSION,
    threads=8,
)
