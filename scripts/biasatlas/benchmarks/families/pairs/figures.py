"""The figure of a benchmark of pairs."""

from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("scores")
def scores_figure(step: Step) -> Figure:
    """Stereotype score and interval by category; the line at 50 is no preference, a cross is published."""
    table, description = step.tables["scores"], step.description
    of_all = (table[["direction", *description.template]] == "all").all(axis=1)
    return dot_intervals(
        table[of_all & (table["metric"] == "stereotype_score")],
        "category",
        step.styles,
        label="pairs with the stereotypical sentence preferred (%), 95% interval",
        reference=50,
        order=(*description.category_names.values(), "overall"),
        limits=(0, 100),
        empty="no pair has a likelihood for both of its sentences",
    )
