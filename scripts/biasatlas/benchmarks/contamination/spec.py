"""What contamination declares: its lists, columns and options, and what the workflow plans with."""

from biasatlas.benchmarks.contract import Metric, Options, ScoreView, Spec, Table, Task
from biasatlas.columns import Columns, Factor
from biasatlas.stages import field

#: Names of the lists that are exchangeable as published: the order of their items says nothing.
CROWS_PAIRS = "crows_pairs"
LISTS = (CROWS_PAIRS, "stereoset_intrasentence", "stereoset_intersentence")
TASK = "order"

#: The order that was published; others have numbers from 1.
PUBLISHED = 0

#: ``text`` is an item's sentences, a line each; rows are in the published order.
ITEM_COLUMNS: Columns = {"item_id": "string", "category": "string", "text": "string"}

#: ``block`` is named by its first item, ``order`` is 0 for the published one, ``length`` counts items.
REQUEST_KEYS: Columns = {"block": "string", "order": "integer", "length": "integer"}

SCORE_COLUMNS = ("block", "order", "length", "log_likelihood", "status", "detail")

#: Items of a block are read together; blocks are the sampled units.
DESIGN = {
    "block": Factor(scores=("block",), items=("item_id",), sampled=True),
    "order": Factor(scores=("order",), items=()),
}


class ContaminationOptions(Options):
    """How a list is cut, and with how many other orders its published one is compared."""

    block: int = field(
        "answers",
        ge=2,
        le=1000,
        description="How many neighbouring items the model reads at once; they must fit into its context",
    )
    orders: int = field(
        "answers", ge=1, le=100, description="How many random orders of each block to compare with the published order"
    )


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
    shown={TASK: ScoreView("log_likelihood", unit="nats", key=("block", "order"), parts=({"item_id": "block"},))},
)
