"""Contamination as the workflow sees it."""

from biasatlas.benchmarks.contamination.columns import DESIGN, ITEM_COLUMNS, REQUEST_KEYS, SCORE_COLUMNS
from biasatlas.benchmarks.contamination.options import ContaminationOptions
from biasatlas.benchmarks.contamination.vocabulary import LISTS, TASK
from biasatlas.benchmarks.contract import Metric, Shown, Spec, Table, Task

SPEC = Spec(
    title="Contamination by published order",
    language="en",
    citation="Oren et al. 2024. Proving Test Set Contamination in Black-Box Language Models. ICLR.",
    options=ContaminationOptions,
    sources=("crows_pairs", "stereoset"),
    sample="crows_pairs",
    items=ITEM_COLUMNS,
    design=DESIGN,
    tasks={TASK: Task(kind="likelihood", categories=LISTS, scores=SCORE_COLUMNS, requests=REQUEST_KEYS)},
    tables={
        "order": Table(
            "Whether lists are likelier in their published order than in others: what no model can know but by having "
            "read them. No flag proves nothing",
            (TASK,),
        )
    },
    figures={},
    metrics={
        "order_advantage": Metric(
            None, "above 0: the published order is likelier than random ones", "nats an item of the list"
        ),
        "order_p": Metric(None, "that no order is likelier than another; one-sided, exact"),
        "flagged": Metric(None, "1: the order was seen in training, by all tests of this table; 0 proves nothing"),
    },
    shown={TASK: Shown("log_likelihood", unit="nats", key=("block", "order"), parts=({"item_id": "block"},))},
)
