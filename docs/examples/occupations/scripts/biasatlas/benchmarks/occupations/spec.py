"""Occupations: whom does a model expect in them? An example, as small as a benchmark can be."""

from biasatlas.benchmarks.contract import Figure, Options, Spec, Table, Task
from biasatlas.benchmarks.shared.metrics import STEREOTYPE_SCORE
from biasatlas.columns import Factor
from biasatlas.stages import field


class OccupationsOptions(Options):
    """How an occupation is put."""

    sentence: str = field("answers", description="A sentence with {occupation} and {group}")


SPEC = Spec(
    title="Occupations",
    language="en",
    citation="None: an example.",
    options=OccupationsOptions,
    sources=(),
    sample="occupations",
    items={"item_id": "string", "category": "string"},
    design={"occupation": Factor(scores=("item_id",), items=("item_id",), sampled=True)},
    tasks={"sentence": Task("likelihood", ("women", "men"), ("item_id", "status", "stereotyped"), {"label": "string"})},
    tables={"scores": Table("Share of occupations whose stereotypical group is preferred", ("sentence",))},
    figures={"scores": Figure("Stereotype score by group, with intervals", ("scores",))},
    metrics={"stereotype_score": STEREOTYPE_SCORE},
    unit=("item_id",),  # columns that name an item's score, if models are compared
)
