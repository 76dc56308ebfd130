"""What each decision comes to, as a number."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions.spec import DecisionsDescription
from biasatlas.benchmarks.shared.preferences import parse_probabilities
from biasatlas.columns import MASSES, STOPPED


def score_responses(step: Step) -> pd.DataFrame:
    """A row per item of the category.

    ``value`` is sum(p v) / sum(p) over the answers, with v = 100 for yes, 0 for no, or the score itself: the share of
    yes in percent, or the mean score, over all repeats; missing unless ``status`` is "ok". ``refused``, ``ambiguous``,
    ``unparseable`` and ``unresolved`` are probability mass. ``least`` and ``most`` are that value had the mass on no
    answer, all of it where the request failed, been on the lowest or the highest one; missing where an item was not
    asked.
    """
    description: DecisionsDescription = step.description
    items = step.items[step.items["category"] == step.category]
    labels = description.labels
    values = np.array(list(labels.values()))
    responses = step.responses[["request_id", "status", "detail", "probabilities", *MASSES]]
    rows = step.requests[["request_id", "item_id"]].merge(responses, on="request_id")
    rows[list(labels)] = parse_probabilities(rows["probabilities"], list(labels))
    grouped = rows.groupby("item_id", sort=False)
    mass = grouped[[*labels, *MASSES]].mean().join(grouped[["status", "detail"]].first()).reindex(items["item_id"])
    p = mass[list(labels)].to_numpy(float)
    named = np.nan_to_num(p).sum(axis=1)
    status = mass["status"].fillna("failed").to_numpy(object, copy=True)
    silent = ~np.isnan(p).any(axis=1) & (named == 0)
    none = np.nan_to_num(mass[list(MASSES)].to_numpy(float))
    likeliest = np.array(["refused", "ambiguous", "unparseable", "truncated"], object)[none.argmax(axis=1)]
    status = np.where(silent & ~np.isin(status, list(STOPPED)), likeliest, np.where(named > 0, "ok", status))
    asked = status != "not_applicable"
    total = np.nan_to_num(p) @ values
    with np.errstate(invalid="ignore"):
        value = np.where(named > 0, total / named, np.nan)
    return pd.DataFrame(
        {
            **{name: items[name].to_numpy() for name in description.kept},
            "status": status,
            "value": value,
            "least": np.where(asked, total + (1 - named) * values.min(), np.nan),
            "most": np.where(asked, total + (1 - named) * values.max(), np.nan),
            **{name: mass[name].to_numpy() for name in MASSES},
            "detail": mass["detail"].to_numpy(object),
        }
    )
