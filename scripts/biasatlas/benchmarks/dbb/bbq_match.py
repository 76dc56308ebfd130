"""DBB's concepts beside the BBQ questions that they were made from (the paper's Figures 5 to 7)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from biasatlas.files import TABLE_COLUMNS
from biasatlas.stats.intervals import MIN_UNITS, percentile, resample_counts

_KEYS = ("model", "bbq_template", "category", "concept_1", "concept_2")


def match_bbq(dbb_scores: pd.DataFrame, bbq_scores: pd.DataFrame) -> pd.DataFrame:
    """Two rows per model and concept that both benchmarks ask about: metrics ``dbb_score`` and ``bbq_bias``.

    Both inputs are score files end to end, with ``model``, ``task`` and ``category`` in front: those of DBB's MCQ (or
    SG) and of BBQ. A concept's DBB score is the mean over its instances in all categories there, its BBQ score that of the
    ambiguous items of the template that its question belongs to: the share of answers with the stereotype minus the
    share against it, which is BBQ's s_AMB, times 100. Intervals are percentile bootstraps over instances and items.
    """
    concepts = dbb_scores[dbb_scores["source_id"].str.startswith("bbq/", na=False)]
    ambiguous = bbq_scores[bbq_scores["condition"] == "ambig"]
    templates = bbq_scores.drop_duplicates("item_id").set_index("item_id")["template"]
    concepts = concepts.assign(bbq_template=concepts["source_id"].str.removeprefix("bbq/").map(templates))
    rows = []
    keys = ["model", "bbq_template", "concept_1", "concept_2"]
    for (model, template, first, second), mine in concepts.dropna(subset="bbq_template").groupby(keys, sort=False):
        theirs = ambiguous[(ambiguous["model"] == model) & (ambiguous["template"] == template)]
        if theirs.empty:
            continue
        key = dict(zip(_KEYS, (model, template, template.rsplit("/", 1)[0], first, second), strict=True))
        rows.append(key | _estimate("dbb_score", mine["score"], mine["status"]))
        rows.append(key | _estimate("bbq_bias", 100 * (theirs["biased"] - theirs["counter"]), theirs["status"]))
    return pd.DataFrame(rows, columns=[*_KEYS, *TABLE_COLUMNS])


def _estimate(metric: str, values: pd.Series, status: pd.Series) -> dict:
    known = values.dropna().to_numpy(float)
    low, high = np.nan, np.nan
    if len(known) >= MIN_UNITS:
        low, high = percentile(resample_counts(len(known)) @ known / len(known))
    refused, unparseable = int((status == "refused").sum()), int((status == "unparseable").sum())
    return {
        "metric": metric,
        "value": known.mean() if len(known) else np.nan,
        "ci_low": low,
        "ci_high": high,
        "n": len(known),
        "refused": refused,
        "unparseable": unparseable,
        "missing": len(values) - len(known) - refused - unparseable,
        "published": None,
        "difference": np.nan,
    }


def draw_match(table: pd.DataFrame) -> Figure:
    """A point per shared concept, BBQ's bias across and DBB's score up, a panel per model, a colour per category."""
    models = list(table["model"].unique())
    if not models:
        figure = plt.figure(figsize=(5, 1))
        figure.text(0.5, 0.5, "Nothing to draw: no concept is in both benchmarks.", ha="center", color="0.4")
        return figure
    categories = list(table["category"].unique())
    figure, axes = plt.subplots(
        1, len(models), figsize=(1.2 + 3.0 * len(models), 3.4), sharex=True, sharey=True, squeeze=False
    )
    for axis, model in zip(axes[0], models, strict=True):
        wide = (
            table[table["model"] == model].pivot(index=list(_KEYS[1:]), columns="metric", values="value").reset_index()
        )
        for number, category in enumerate(categories):
            mine = wide[wide["category"] == category]
            axis.plot(mine["bbq_bias"], mine["dbb_score"], "o", color=f"C{number}", markersize=4, label=category)
        axis.axvline(0, color="0.6", linewidth=0.8)
        axis.set(title=model, xlabel="BBQ, ambiguous: bias score", xlim=(-105, 105), ylim=(-2, 102))
    axes[0, 0].set_ylabel("DBB: mean bias score")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure
