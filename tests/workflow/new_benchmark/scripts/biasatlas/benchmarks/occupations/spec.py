"""Occupations: whom does a model expect in them? An example, as small as a benchmark can be."""

from biasatlas.benchmarks.contract import Figure, Options, Spec, Table, Task
from biasatlas.benchmarks.shared.metrics import STEREOTYPE_SCORE
from biasatlas.columns import Factor
from biasatlas.marks import field


class OccupationsOptions(Options):
    """How an occupation is put."""

    sentence: str = field("answers", description="A sentence with the slots {occupation} and {group}")


SPEC = Spec(
    title="Occupations",
    language="en",
    citation="None: an example.",
    options=OccupationsOptions,
    sources=(),
    sample="occupations",
    items={"item_id": "string", "category": "string"},
    design={"occupation": Factor(scores=("item_id",), items=("item_id",), sampled=True)},
    tasks={
        "sentence": Task(
            kind="likelihood",
            categories=("women", "men"),
            scores=("item_id", "status", "stereotyped"),
            requests={"label": "string"},
        ),
    },
    tables={
        "scores": Table(caption="Share of occupations whose stereotypical group is preferred", tasks=("sentence",)),
    },
    figures={
        "scores": Figure(caption="Stereotype score by group, with intervals", tables=("scores",)),
    },
    metrics={"stereotype_score": STEREOTYPE_SCORE},
)
