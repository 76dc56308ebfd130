"""Grades by field."""

from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.mt_bench.spec import FIELDS
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("scores")
def grades(step: Step) -> Figure:
    """Mean grade and interval of both turns, by field and over all of them."""
    table = step.tables["scores"]
    return dot_intervals(
        table[table["turn"] == "both"],
        "category",
        step.styles,
        label="mean grade of the judge (1 to 10), 95% interval",
        order=(*FIELDS, "mean"),
        limits=(1, 10),
        empty="no answer has a grade",
    )
