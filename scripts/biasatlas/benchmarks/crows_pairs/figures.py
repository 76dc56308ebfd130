"""Stereotype scores by bias type."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from biasatlas.benchmarks.contract import figure
from biasatlas.benchmarks.crows_pairs.vocabulary import BIAS_TYPES
from biasatlas.benchmarks.shared.palette import Looks
from biasatlas.benchmarks.shared.plots import dot_intervals


@figure("scores")
def stereotype_scores(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Stereotype score and interval by bias type; the line at 50 is no preference, a cross is published."""
    table = tables["scores"]
    return dot_intervals(
        table[(table["metric"] == "stereotype_score") & (table["direction"] == "all")],
        "category",
        looks,
        label="pairs with the stereotypical sentence preferred (%), 95 % interval",
        reference=50,
        order=(*BIAS_TYPES, "overall"),
        limits=(0, 100),
        empty="no pair has a likelihood for both of its sentences",
    )
