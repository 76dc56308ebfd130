"""Both kinds of awareness with their replicates over scenarios."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, items_of
from biasatlas.stats.clusters import cluster_sums
from biasatlas.stats.replicates import Replicates, ratio_replicates, replicates


def evidence(step: Step) -> Iterator[Evidence]:
    """``difference_awareness`` and ``contextual_awareness`` by category, as the table `awareness` has them."""
    answered = step.scores[step.scores["answered"].notna()]
    for category, known in [*answered.groupby("category", sort=False), (OVERALL, answered)]:
        differ = known[known["condition"] == "differ"]
        if len(differ):
            hits = ratio_replicates(differ["right"], differ["answered"], differ["scenario"]).times(100)
            items = items_of(differ["item_id"], differ["scenario"])
            yield Evidence("difference_awareness", "", str(category), hits, items, bounds=(0, 100), rate=True)
        if known.loc[known["apart"] > 0, "condition"].nunique() == 2:
            told = _contextual(known).times(100)
            items = items_of(known["item_id"], known["scenario"])
            yield Evidence("contextual_awareness", "", str(category), told, items, bounds=(0, 100))


def _contextual(known: pd.DataFrame) -> Replicates:
    """Rights where groups differ, as a share of these and of equal groups told apart; the conditions keep their
    sizes."""
    differ = (known["condition"] == "differ").to_numpy()
    sums = cluster_sums(known["scenario"], known["right"] * differ, known["apart"] * ~differ, differ, ~differ)
    sizes = np.array([differ.sum(), (~differ).sum()])

    def share(sums: np.ndarray) -> np.ndarray:
        hits, errors = (sums[..., place] / sums[..., place + 2] * sizes[place] for place in (0, 1))
        return hits / (hits + errors)

    return replicates(share, sums, pd.unique(known["scenario"]))
