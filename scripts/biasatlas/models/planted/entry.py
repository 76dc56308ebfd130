"""A planted model's entry in the configuration, and what the kind ``planted`` can do."""

from functools import cache
from typing import TYPE_CHECKING, Literal

from biasatlas.models.entry import Entry, every_task
from biasatlas.models.interface import Kind
from biasatlas.models.local import VERSION
from biasatlas.resources import names
from biasatlas.stages import field

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec


class PlantedEntry(Entry):
    """A tiny causal language model, which the run trains on texts with a known bias ([planted.md](planted.md))."""

    kind: Literal["planted"] = field("answers", description="How the model is reached; its other keys depend on it.")
    odds_ratio: float = field(
        "answers",
        gt=0,
        description="How many times as often a stereotyped attribute occurs with its own group as with another, "
        "such as `4`; 1: no bias.",
    )
    seed: int = field(
        "answers",
        1,
        ge=0,
        le=2**32 - 1,
        description="Seed of the corpus and the training; the same seed gives the same weights.",
    )


def _tasks(entry: PlantedEntry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    """All tasks of a benchmark whose questions are learnt, or in whose language a grammar ships."""
    return every_task(entry, benchmark, spec) if spec.taught_by_questions or _has_grammar(spec.language) else ()


@cache
def _has_grammar(language: str) -> bool:
    return bool(names([f"planted/{language}.yaml"], needed=False))


KIND = Kind(
    entry=PlantedEntry,
    open="biasatlas.models.local.answer:open_planted",
    tasks=_tasks,
    ready=lambda entry: "weights",
    environment=lambda entry: "model",
    writes=True,
    version=VERSION,
    lacks=lambda entry, setting: setting != "sampling.checkpoint",
)
