"""Stereotype scores by group."""

from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import Step, figure
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("scores")
def stereotype_scores(step: Step) -> Figure:
    """Stereotype score and interval by group; the line at 50 is no preference."""
    label = "occupations with the stereotypical group preferred (%), 95 % interval"
    return dot_intervals(step.tables["scores"], "category", step.styles, label=label, reference=50, limits=(0, 100))
