"""Stereotype and language modelling scores with their replicates over target terms."""

from collections.abc import Iterator

import numpy as np

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, items_of
from biasatlas.benchmarks.stereoset.spec import DESIGN
from biasatlas.stats.replicates import ratio_replicates

(_TERM,) = DESIGN["target term"].scores

#: Metric -> the column of scores that it is the mean over terms of.
_METRICS = {"stereotype_score": "stereotyped", "language_modelling_score": "related"}


def evidence(step: Step) -> Iterator[Evidence]:
    """Means over target terms of their items' means, by task and domain."""
    for task, asked in step.scores.groupby("task", sort=False):
        for category, rows in [*asked.groupby("category", sort=False), (OVERALL, asked)]:
            for metric, column in _METRICS.items():
                known = rows[rows[column].notna()]
                means = 100 * known.groupby(_TERM, sort=False)[column].mean()
                if len(means):
                    value = ratio_replicates(means, np.ones(len(means)), means.index)
                    items = items_of(known["item_id"], known[_TERM], np.sign(known[column] - 0.5))
                    yield Evidence(metric, str(task), str(category), value, items, bounds=(0, 100))
