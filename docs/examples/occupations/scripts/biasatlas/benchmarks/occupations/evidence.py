"""Stereotype scores without each occupation, so that models can be compared."""

from collections.abc import Iterator

import numpy as np

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.stats.replicates import ratio_replicates


def evidence(step: Step) -> Iterator[Evidence]:
    """``stereotype_score`` by group, over occupations."""
    scores = step.scores
    for category, rows in scores[scores["stereotyped"].notna()].groupby("category", sort=False):
        value = ratio_replicates(rows["stereotyped"], np.ones(len(rows)), rows["item_id"]).times(100)
        items = items_of(rows["item_id"], rows["item_id"], np.sign(rows["stereotyped"] - 0.5))
        yield Evidence("stereotype_score", "sentence", str(category), value, items, bounds=(0, 100))
