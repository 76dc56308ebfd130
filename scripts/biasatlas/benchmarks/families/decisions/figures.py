"""The figure of a benchmark of decisions."""

from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.families.decisions.spec import OVERALL, DecisionsDescription
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("shifts")
def shifts_figure(step: Step) -> Figure:
    """Shift of each level of each factor, with the interval of placebos, or over scenarios where there are none."""
    description: DecisionsDescription = step.description
    table = step.tables["shifts"]
    table = table[(table["metric"] == description.tested_metric) & (table["category"] != OVERALL)]
    many = len(description.factors) > 1
    names = {
        (name, level): (f"{name}: {level}" if many else level).replace("_", " ")
        for name, factor in description.factors.items()
        for level in factor.compared
    }
    rows = [names[key] for key in zip(table["factor"], table["category"], strict=True)]
    return dot_intervals(
        table.assign(level=rows),
        "level",
        step.styles,
        label="shift of decisions (points; right: more favourable)"
        + ", with what one more placebo might do" * (description.tested_metric != "shift"),
        reference=0,
        order=list(names.values()),
        empty="no decision could be read",
    )
