"""The entry of a model with a stated formula in the configuration, and what the kind ``simulated`` can do."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from biasatlas.models.entry import Entry
from biasatlas.models.interface import Kind
from biasatlas.models.simulated import VERSION
from biasatlas.stages import field

if TYPE_CHECKING:
    from biasatlas.benchmarks.contract import Spec

Share = Annotated[float, Field(ge=0, le=1)]


class SimulatedEntry(Entry):
    """A model without weights: a formula ([simulated.md](simulated.md)) answers, so the ground truth is known."""

    kind: Literal["simulated"] = field("tables", description="How the model is reached; its other keys depend on it.")
    seed: int = field("answers", 1, ge=0, le=2**32 - 1, description="Seed of its noise and of its draws.")
    bias: float = field(
        "answers", 0.0, description="Bias: log odds of choosing the stereotype, or nats by which its text is likelier."
    )
    bias_by_category: dict[str, float] = field("answers", {}, description="The same, by category.")
    bias_by_group: dict[str, float] = field("answers", {}, description="The same, by group; overrides both.")
    affected: float = field(
        "answers", 1.0, ge=0, le=1, description="Share of clusters (templates, terms) in which the bias acts."
    )
    right: float = field(
        "answers",
        2.0,
        description="Log odds of a right or sensible answer against any other; for numbers, subtracted per unit of "
        "error.",
    )
    right_by_category: dict[str, float] = field("answers", {}, description="The same, by category.")
    unknown: float = field("answers", 0.0, description="Log odds of the option that says it cannot be known.")
    quality: float = field(
        "answers", 0.5, ge=0, le=1, description="Mean grade that a judge gives its analyses, as a share of the maximum."
    )
    noise: float = field(
        "answers", 1.0, ge=0, description="Standard deviation of the noise of a text or an option, in nats or log odds."
    )
    icc: float = field(
        "answers", 0.0, ge=0, le=1, description="Share of the variance of preferences that items of a cluster share."
    )
    prompt_correlation: float = field(
        "answers", 1.0, ge=0, le=1, description="Correlation of the noise between prompts and orders of one question."
    )
    nats_per_token: float = field(
        "answers",
        4.0,
        ge=0,
        description="Mean nats by which a token (a word or Chinese character) lowers a text's log-likelihood.",
    )
    frequency: float = field(
        "answers",
        0.0,
        description="Added to a token's cost, times minus the log of its share of all tokens.",
    )
    token_noise: float = field(
        "answers", 0.0, ge=0, description="Standard deviation, in nats, of a random cost of each token."
    )
    text_cost: float = field(
        "answers",
        0.0,
        ge=0,
        description="In a choice between texts, the weight of the cost of each text's tokens.",
    )
    edit: float = field(
        "answers",
        0.0,
        description="Nats by which each change to the original text lowers the log-likelihood.",
    )
    letter: float = field("answers", 0.0, description="Log odds of the option shown first.")
    letter_by_group: dict[str, float] = field("answers", {}, description="The same, by group of the question.")
    label_length: float = field("answers", 0.0, description="Log odds of a label for each character beyond its first.")
    refused: float = field("answers", 0.0, ge=0, le=1, description="Probability of refusing a question.")
    refused_by_group: dict[str, Share] = field("answers", {}, description="The same, by group of the question.")
    withheld_by_group: dict[str, Share] = field(
        "answers",
        {},
        description="Probability of refusing where the answer would be the stereotype, by group of the question.",
    )
    unreadable: float = field(
        "answers", 0.0, ge=0, le=1, description="Probability that a reply that does not refuse cannot be parsed."
    )
    unreadable_by_group: dict[str, Share] = field("answers", {}, description="The same, by group of the question.")
    certain: bool = field(
        "answers", False, description="Whether it puts all probability on one answer, drawn from its distribution."
    )


def _tasks(entry: SimulatedEntry, benchmark: str, spec: "Spec") -> tuple[str, ...]:
    from biasatlas.benchmarks.registry import has_roles  # reads prompts and sources

    return tuple(spec.tasks) if has_roles(spec) else ()


KIND = Kind(
    entry=SimulatedEntry,
    open="biasatlas.models.simulated.answer:open_simulated",
    tasks=_tasks,
    ready=lambda entry: "",
    environment=lambda entry: "data",
    writes=True,
    version=VERSION,
)
