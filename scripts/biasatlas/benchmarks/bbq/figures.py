"""Bias scores by category."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

_TITLES = {"ambig": "Ambiguous context", "disambig": "Disambiguated context"}


def _bias(tables: dict[str, pd.DataFrame]) -> Figure:
    """A row per category, a dot and interval per model, one panel per context; a cross is the published value."""
    table = tables["bias"]
    table = table[(table["metric"] == "bias_score") & (table["label_type"] == "all") & table["value"].notna()]
    categories = sorted(table["category"].unique(), key=lambda name: (name == "overall", name))
    models = list(table["model"].unique())
    figure = Figure(figsize=(9, 1.6 + 0.16 * len(categories) * (len(models) + 1)), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    offsets = np.linspace(-0.3, 0.3, len(models)) if len(models) > 1 else [0.0]
    for panel, (condition, title) in zip(axes, _TITLES.items(), strict=True):
        panel.axvline(0, color="0.6", linewidth=1)
        for place, (model, offset) in enumerate(zip(models, offsets, strict=True)):
            rows = table[(table["condition"] == condition) & (table["model"] == model)]
            height = [categories.index(name) + offset for name in rows["category"]]
            panel.hlines(height, rows["ci_low"], rows["ci_high"], color=f"C{place}", linewidth=1.5)
            panel.plot(rows["value"], height, "o", color=f"C{place}", markersize=4, label=model)
            panel.plot(rows["published"], height, "x", color="0.2", markersize=5)
        panel.set_title(title)
        panel.set_xlabel("bias score (%), 95 % interval")
        panel.set_yticks(range(len(categories)), [name.replace("_", " ") for name in categories])
        panel.grid(axis="x", color="0.92")
        panel.set_axisbelow(True)
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.tick_params(axis="y", length=0)
    axes[0].set_ylim(len(categories) - 0.4, -0.6)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


FIGURES = {"bias": _bias}
