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
    """A formula with a known bias, in place of a model ([simulated.md](simulated.md))."""

    kind: Literal["simulated"] = field("answers", description="How the model is reached; its other keys depend on it.")
    seed: int = field("answers", 1, ge=0, le=2**32 - 1, description="Seed of noise and draws.")
    bias: float = field(
        "answers",
        0.0,
        description="Preference for stereotypes: log odds of choosing one, or nats by which its text is likelier.",
    )
    bias_by_category: dict[str, float] = field(
        "answers", {}, description="`bias` by category, such as `{gender: 1.5}`."
    )
    bias_by_group: dict[str, float] = field("answers", {}, description="`bias` by group; overrides `bias_by_category`.")
    affected: float = field(
        "answers", 1.0, ge=0, le=1, description="Share of clusters (such as templates) in which the bias acts."
    )
    right: float = field(
        "answers",
        2.0,
        description="Log odds gained by the right or sensible answer; for numbers, lost per unit of error.",
    )
    right_by_category: dict[str, float] = field("answers", {}, description="`right` by category.")
    unknown: float = field("answers", 0.0, description='Log odds that the option "unknown" gains.')
    quality: float = field(
        "answers",
        0.5,
        ge=0,
        le=1,
        description="Mean grade of this model's analyses, by a simulated judge (share of the maximum).",
    )
    noise: float = field(
        "answers", 1.0, ge=0, description="SD of the noise of each text (in nats) or option (in log odds)."
    )
    icc: float = field(
        "answers", 0.0, ge=0, le=1, description="Share of the variance of preferences that is common to a cluster."
    )
    prompt_correlation: float = field(
        "answers", 1.0, ge=0, le=1, description="Correlation of the noise between prompts and orders of one question."
    )
    nats_per_token: float = field(
        "answers",
        4.0,
        ge=0,
        description="Base cost of a token (a word, or a Chinese character): nats by which it lowers a text's "
        "log-likelihood.",
    )
    frequency: float = field(
        "answers",
        0.0,
        description="Adds to each token's cost: this × −log(the token's share of all tokens).",
    )
    token_noise: float = field("answers", 0.0, ge=0, description="SD of a random part of each token's cost, in nats.")
    text_cost: float = field(
        "answers",
        0.0,
        ge=0,
        description="Weight of the cost of a text's tokens, in a choice between texts.",
    )
    edit: float = field(
        "answers",
        0.0,
        description="Nats by which each change to the original text lowers its log-likelihood.",
    )
    letter: float = field("answers", 0.0, description="Log odds that the option shown first gains.")
    letter_by_group: dict[str, float] = field("answers", {}, description="`letter` by the question's group.")
    label_length: float = field(
        "answers", 0.0, description="Log odds that a label gains per character beyond its first."
    )
    refused: float = field("answers", 0.0, ge=0, le=1, description="Probability of refusing a question.")
    refused_by_group: dict[str, Share] = field("answers", {}, description="`refused` by the question's group.")
    withheld_by_group: dict[str, Share] = field(
        "answers",
        {},
        description="Probability of refusing in place of a stereotypical answer, by the question's group.",
    )
    unreadable: float = field(
        "answers", 0.0, ge=0, le=1, description="Probability that a reply that isn't a refusal can't be parsed."
    )
    unreadable_by_group: dict[str, Share] = field("answers", {}, description="`unreadable` by the question's group.")
    certain: bool = field(
        "answers", False, description="Put all probability on one answer, drawn from the distribution."
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
