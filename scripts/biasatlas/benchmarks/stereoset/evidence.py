"""Stereotype and language modelling scores with their replicates over target terms."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, items_of
from biasatlas.benchmarks.stereoset.spec import DESIGN, StereoSetOptions
from biasatlas.stats.replicates import ratio_replicates

(_TERM,) = DESIGN["target term"].scores

#: Metric -> the column of scores that it is the mean over terms of.
_METRICS = {"stereotype_score": "stereotyped", "language_modelling_score": "related"}


def shift_evidence(scores: pd.DataFrame, category: str) -> Iterator[Evidence]:
    """``own_target_shift`` of intrasentence ``scores`` over own targets; none where no item has a ``shift``."""
    known = scores[scores["shift"].notna()]
    if len(known):
        value = ratio_replicates(known["shift"], np.ones(len(known)), known[_TERM])
        items = items_of(known["item_id"], known[_TERM], known["shift"])
        yield Evidence("own_target_shift", "intrasentence", category, value, items)


def evidence(step: Step[StereoSetOptions]) -> Iterator[Evidence]:
    """Means over target terms of their items' means, by task and domain; what an item's own target adds, by domain."""
    asked = step.scores[step.scores["task"] == "intrasentence"]
    if step.options.swaps == "asked" and len(asked):
        for category, rows in [*asked.groupby("category", sort=False), (OVERALL, asked)]:
            yield from shift_evidence(rows, str(category))
    for task, asked in step.scores.groupby("task", sort=False):
        for category, rows in [*asked.groupby("category", sort=False), (OVERALL, asked)]:
            for metric, column in _METRICS.items():
                known = rows[rows[column].notna()]
                means = 100 * known.groupby(_TERM, sort=False)[column].mean()
                if len(means):
                    value = ratio_replicates(means, np.ones(len(means)), means.index)
                    items = items_of(known["item_id"], known[_TERM], 100 * (known[column] - 0.5))
                    yield Evidence(metric, str(task), str(category), value, items, bounds=(0, 100))
