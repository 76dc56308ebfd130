"""DBB's figures, drawn from its tables."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from biasatlas.benchmarks.dbb import CATEGORIES, TYPES

#: The colours of Okabe and Ito, which colour-blind readers can tell apart: one per model, then again from the first.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_TYPES = [kind for types in TYPES.values() for kind in types]
_WIDTH = 10
#: Shares below this are drawn as if they were this: one instance in ten thousand.
_LEAST_SHARE = 1e-4
_MATCH_KEYS = ["bbq_template", "category", "concept_1", "concept_2"]


def distribution_by_category(table: pd.DataFrame) -> Figure:
    """Share of the instances by bias score, a panel per category, a line per model with its interval as a band."""
    table = table[(table["type"] == "All") & table["category"].isin(CATEGORIES)]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("no instance was scored")
    present = [category for category in CATEGORIES if category in set(table["category"])]
    figure = Figure(figsize=(1.2 + 2.1 * len(present), 3.2))
    axes = figure.subplots(1, len(present), sharey=True, squeeze=False)
    for axis, category in zip(axes[0], present, strict=True):
        for colour, (model, rows) in _by_model(table[table["category"] == category]):
            x = rows["score_low"] + _WIDTH / 2
            low, high = (rows[name].clip(lower=_LEAST_SHARE) for name in ("ci_low", "ci_high"))
            axis.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
            # A range without an instance has no place on a logarithmic axis.
            axis.plot(
                x, rows["value"].where(rows["value"] > 0), "o-", color=colour, markersize=3, linewidth=1, label=model
            )
        axis.set(title=category, xlabel="Bias score", yscale="log", xlim=(0, 100), ylim=(_LEAST_SHARE, 1.3))
        axis.set_xticks(range(0, 101, 20))
    axes[0, 0].set_ylabel("Share of instances")
    _legend(figure, axes.ravel())
    return figure


def distribution_by_type(table: pd.DataFrame) -> Figure:
    """Share of the instances by bias score (columns) and descriptor type (rows), a panel per model."""
    table = table[table["type"] != "All"]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("no instance was scored")
    models = list(_by_model(table))
    present = [kind for kind in _TYPES if kind in set(table["type"])]
    figure = Figure(figsize=(1.8 + 3.0 * len(models), 1.4 + 0.26 * len(present)))
    axes = figure.subplots(1, len(models), sharey=True, squeeze=False)
    for axis, (_, (model, rows)) in zip(axes[0], models, strict=True):
        shares = rows.pivot(index="type", columns="score_low", values="value").reindex(present)
        # A type without a single instance stays white; a share of 0 has the lightest colour.
        image = axis.imshow(
            shares.clip(lower=_LEAST_SHARE), norm=LogNorm(_LEAST_SHARE, 1), cmap="Blues", aspect="auto", origin="upper"
        )
        axis.set_xticks(np.arange(0, 11, 2) - 0.5, [f"{low}" for low in range(0, 101, 20)])
        axis.set_yticks(range(len(present)), present)
        axis.tick_params(axis="y", length=0)
        axis.set(title=model, xlabel="Bias score")
        axis.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, shrink=0.8, label="Share of instances")
    return figure


def noise_floor(table: pd.DataFrame) -> Figure:
    """By descriptor type, a panel per model: the rate over the threshold, what noise alone gives, the corrected rate."""
    table = table[table["metric"].isin(("rate", "rate_corrected", "noise_floor_rate"))]
    if table["value"].notna().sum() == 0:
        return _nothing_to_draw("no instance was scored")
    models = list(_by_model(table))
    present = [kind for kind in _TYPES if kind in set(table["type"])]
    figure = Figure(figsize=(1.8 + 3.2 * len(models), 1.5 + 0.26 * len(present)))
    axes = figure.subplots(1, len(models), sharex=True, sharey=True, squeeze=False)
    y = np.arange(len(present))
    for axis, (colour, (model, rows)) in zip(axes[0], models, strict=True):
        wide = rows.pivot(index="type", columns="metric", values=["value", "ci_low", "ci_high"]).reindex(present)
        rates = wide["value"]
        axis.hlines(y, wide["ci_low"]["rate"], wide["ci_high"]["rate"], color=colour, linewidth=1.2)
        axis.plot(rates["rate"], y, "o", color=colour, markersize=5, label="over the threshold")
        if "noise_floor_rate" in rates:  # exact probabilities have no floor, and their count needs no correction
            axis.barh(
                y, rates["noise_floor_rate"], color="0.85", height=0.8, zorder=0, label="expected without any effect"
            )
            axis.plot(
                rates["rate_corrected"],
                y,
                "o",
                color=colour,
                markerfacecolor="white",
                markersize=5,
                label="false discoveries held",
            )
        axis.set(title=model, xlabel="Share of instances", axisbelow=True)
        axis.set_yticks(y, present)
        axis.tick_params(axis="y", length=0)
    axes[0, 0].invert_yaxis()
    axes[0, 0].set_xlim(-0.02, max(0.2, table["ci_high"].max() * 1.05, table["value"].max() * 1.05))
    _legend(figure, axes.ravel()[:1])
    return figure


def bbq_match(table: pd.DataFrame) -> Figure:
    """A point per shared concept, BBQ's bias across and DBB's score up, a panel per model, a colour per category."""
    models = list(table["model"].unique())
    if not models:
        return _nothing_to_draw("no concept is in both benchmarks")
    categories = list(table["category"].unique())
    figure = Figure(figsize=(1.2 + 3.0 * len(models), 3.4))
    axes = figure.subplots(1, len(models), sharex=True, sharey=True, squeeze=False)
    for axis, model in zip(axes[0], models, strict=True):
        mine = table[table["model"] == model]
        wide = mine.pivot(index=_MATCH_KEYS, columns="metric", values="value").reset_index()
        for number, category in enumerate(categories):
            mine = wide[wide["category"] == category]
            axis.plot(
                mine["bbq_bias"],
                mine["dbb_score"],
                "o",
                color=_COLOURS[number % len(_COLOURS)],
                markersize=4,
                label=category,
            )
        axis.axvline(0, color="0.6", linewidth=0.8)
        axis.set(title=model, xlabel="BBQ, ambiguous: bias score", xlim=(-105, 105), ylim=(-2, 102))
    axes[0, 0].set_ylabel("DBB: mean bias score")
    _legend(figure, axes.ravel()[:1])
    return figure


def _by_model(table: pd.DataFrame) -> Iterator[tuple[str, tuple[str, pd.DataFrame]]]:
    """(colour, (model, rows)) in the table's order."""
    for number, group in enumerate(table.groupby("model", sort=False)):
        yield _COLOURS[number % len(_COLOURS)], group


def _legend(figure: Figure, axes: np.ndarray) -> None:
    handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)


def _nothing_to_draw(reason: str) -> Figure:
    figure = Figure(figsize=(5, 1))
    figure.text(0.5, 0.5, f"Nothing to draw: {reason}.", ha="center", va="center", color="0.4")
    return figure


FIGURES = {
    "distribution_by_category": lambda tables: distribution_by_category(tables["distribution"]),
    "distribution_by_type": lambda tables: distribution_by_type(tables["distribution"]),
    "noise_floor": lambda tables: noise_floor(tables["descriptors"]),
    "sg_distribution_by_category": lambda tables: distribution_by_category(tables["sg_distribution"]),
    "sg_distribution_by_type": lambda tables: distribution_by_type(tables["sg_distribution"]),
}
