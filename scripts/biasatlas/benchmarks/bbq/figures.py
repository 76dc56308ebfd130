"""Bias scores by category."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from biasatlas.benchmarks.bbq.vocabulary import CATEGORIES
from biasatlas.benchmarks.contract import figure
from biasatlas.benchmarks.shared.palette import Looks
from biasatlas.benchmarks.shared.plots import dot_intervals

_NAMES = {category: category.replace("_", " ") for category in CATEGORIES} | {
    "ambig": "Ambiguous context",
    "disambig": "Disambiguated context",
}


@figure("bias")
def bias_scores(tables: Mapping[str, pd.DataFrame], looks: Looks) -> Figure:
    """Bias score and interval by category, a panel per context; a cross is the published value."""
    table = tables["bias"]
    return dot_intervals(
        table[(table["metric"] == "bias_score") & (table["label_type"] == "all")],
        "category",
        looks,
        label="bias score (%), 95 % interval",
        reference=0,
        order=(*CATEGORIES, "overall"),
        names=_NAMES,
        panels="condition",
        limits=(-100, 100),
        empty="no answer names a person, and a bias score is a share of those that do",
    )
