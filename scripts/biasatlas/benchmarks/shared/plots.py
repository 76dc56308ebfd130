"""Plots that several benchmarks draw."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from biasatlas.benchmarks.shared.palette import Looks


def dot_intervals(
    table: pd.DataFrame,
    rows: str,
    looks: Looks,
    *,
    label: str,
    reference: float | None = None,
    order: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    panels: str | None = None,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """A dot and an interval for every model and value of the column ``rows``; a cross where a number is published.

    Reads well with 1 to 20 models, and says so in words where there is no value.
    """
    raise NotImplementedError


def empty_figure(reason: str) -> Figure:
    """A small figure that says why there is nothing to draw."""
    figure = Figure(figsize=(6, 1.2))
    figure.text(0.5, 0.5, f"Nothing to draw: {reason}.", ha="center", va="center")
    return figure
