"""Stereotype scores by group."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import figure
from biasatlas.benchmarks.shared.palette import Looks
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("scores")
def stereotype_scores(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Stereotype score and interval by group; the line at 50 is no preference."""
    label = "occupations with the stereotypical group preferred (%), 95 % interval"
    return dot_intervals(tables["scores"], "category", looks, label=label, reference=50, limits=(0, 100))
