"""Stereotype scores with their replicates over clusters."""

from collections.abc import Iterator

import numpy as np

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, items_of
from biasatlas.stats.replicates import ratio_replicates


def evidence(step: Step) -> Iterator[Evidence]:
    """``stereotype_score`` by task and category, of all directions and templates."""
    cluster = step.description.cluster_name
    for task, asked in step.scores[step.scores["stereotyped"].notna()].groupby("task", sort=False):
        for category, rows in [*asked.groupby("category", sort=False), (OVERALL, asked)]:
            value = ratio_replicates(rows["stereotyped"], np.ones(len(rows)), rows[cluster]).times(100)
            items = items_of(rows["item_id"], rows[cluster], np.sign(rows["stereotyped"] - 0.5))
            yield Evidence("stereotype_score", str(task), str(category), value, items, bounds=(0, 100), rate=True)
