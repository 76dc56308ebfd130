"""Stereotype scores and shifts with their replicates over what pairs are sampled in."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.pairs.shift import shift_replicates
from biasatlas.benchmarks.families.pairs.spec import PairsDescription, shift_of
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, items_of
from biasatlas.stats.replicates import ratio_replicates


def evidence(step: Step) -> Iterator[Evidence]:
    """``stereotype_score`` by task and category, of all directions and templates; the shift of all of ``pair``."""
    cluster = step.description.cluster_name
    for task, asked in step.scores[step.scores["stereotyped"].notna()].groupby("task", sort=False):
        for category, rows in [*asked.groupby("category", sort=False), (OVERALL, asked)]:
            value = ratio_replicates(rows["stereotyped"], np.ones(len(rows)), rows[cluster]).times(100)
            items = items_of(rows["item_id"], rows[cluster], 100 * (rows["stereotyped"] - 0.5))
            yield Evidence("stereotype_score", str(task), str(category), value, items, bounds=(0, 100), rate=True)
    shift, texts = shift_of(step.description, step.options), step.scores[step.scores["task"] == "pair"]
    if shift and len(texts):  # a model without likelihoods chooses alone
        yield from shift_evidence(shift, texts, step.description)


def shift_evidence(metric: str, scores: pd.DataFrame, description: PairsDescription) -> Iterator[Evidence]:
    """What ``scores`` of the task ``pair`` say of a ``metric`` of
    :func:`biasatlas.benchmarks.families.pairs.shift.shift_estimate`.

    An item lies away from neutral by its shift, in the direction of the stereotype.
    """
    replicates = shift_replicates(scores, description)
    if replicates is None or description.ways is None:
        return
    known = scores[scores["shift"].notna()]
    away = known["shift"].where(known["direction"] == description.ways[0], -known["shift"])
    items = items_of(known["item_id"], known[description.cluster_name], away)
    yield Evidence(metric, "pair", OVERALL, replicates, items)
