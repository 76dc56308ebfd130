"""Stereotype scores by bias type."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure


def _scores(tables: dict[str, pd.DataFrame]) -> Figure:
    """A row per bias type, a dot and interval per model; the line at 50 is no preference, a cross is published."""
    table = tables["scores"]
    table = table[(table["metric"] == "stereotype_score") & (table["direction"] == "all") & table["value"].notna()]
    categories = sorted(table["category"].unique(), key=lambda name: (name == "overall", name))
    models = list(table["model"].unique())
    offsets = np.linspace(-0.3, 0.3, len(models)) if len(models) > 1 else [0.0]
    figure = Figure(figsize=(6.5, 1.6 + 0.16 * len(categories) * (len(models) + 1)), layout="constrained")
    panel = figure.subplots()
    panel.axvline(50, color="0.6", linewidth=1)
    for place, (model, offset) in enumerate(zip(models, offsets, strict=True)):
        rows = table[table["model"] == model]
        height = [categories.index(name) + offset for name in rows["category"]]
        panel.hlines(height, rows["ci_low"], rows["ci_high"], color=f"C{place}", linewidth=1.5)
        panel.plot(rows["value"], height, "o", color=f"C{place}", markersize=4, label=model)
        panel.plot(rows["published"], height, "x", color="0.2", markersize=5)
    panel.set_xlim(-2, 102)  # a marker at an end is whole
    panel.set_ylim(len(categories) - 0.4, -0.6)
    panel.set_xlabel("pairs with the stereotypical sentence preferred (%), 95 % interval")
    panel.set_yticks(range(len(categories)), categories)
    panel.grid(axis="x", color="0.92")
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(axis="y", length=0)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


FIGURES = {"scores": _scores}
