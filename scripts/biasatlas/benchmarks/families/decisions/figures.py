"""The figure of a benchmark of decisions."""

from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.families.decisions.spec import OVERALL, DecisionsDescription
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("shifts")
def shifts_figure(step: Step) -> Figure:
    """Shift of each level with the interval of placebos, a panel per factor."""
    description: DecisionsDescription = step.description
    table = step.tables["shifts"]
    table = table[(table["metric"] == "shift_over_placebos") & (table["category"] != OVERALL)]
    levels = [level for factor in description.factors.values() for level in factor.compared]
    names = {name: name.replace("_", " ") for name in (*description.factors, *levels)}
    return dot_intervals(
        table,
        "category",
        step.styles,
        label="shift of decisions (points), with what one more placebo might do",
        reference=0,
        order=list(dict.fromkeys(levels)),
        names=names,
        panels="factor" if len(description.factors) > 1 else None,
        empty="no decision could be read",
    )
