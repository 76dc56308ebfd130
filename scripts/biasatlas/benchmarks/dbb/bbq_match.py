"""DBB's concepts beside the BBQ questions that they were made from (the paper's Figures 5 to 7)."""

import numpy as np
import pandas as pd

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
