"""The shift of each level, and the largest of each factor, against placebos."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions.spec import DecisionsDescription
from biasatlas.benchmarks.families.decisions.tables import FactorShifts
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, items_of
from biasatlas.stats.placebos import NEEDED


def evidence(step: Step) -> Iterator[Evidence]:
    """``shift_over_placebos`` by factor, of each level and of all, as the table `shifts` has it."""
    description: DecisionsDescription = step.description
    scores = step.scores
    for name, factor in description.factors.items():
        mine = scores[scores[name].isin(list(factor.values)) | scores["placebo"].notna()]
        shifts = FactorShifts.of(mine, name, description)
        for category, levels in [*((level, [level]) for level in factor.compared), (OVERALL, None)]:
            found, missing = shifts.tested(levels)
            if found is not None:
                yield Evidence(
                    metric="shift_over_placebos",
                    part=name,
                    category=category,
                    replicates=found,
                    items=_items(scores, name, levels or factor.compared),
                    lower_from=NEEDED,
                    upper_from=NEEDED,
                    interval_from=NEEDED,
                    untestable=found.reason,
                    missing=missing,
                )


def _items(scores: pd.DataFrame, name: str, levels: list[str]) -> pd.DataFrame:
    """The cases of some levels, by which side of the mean decision of their scenario they lie on."""
    away = scores["value"] - scores.groupby("scenario")["value"].transform("mean")
    mine = scores[name].isin(levels) & away.notna()
    return items_of(scores.loc[mine, "item_id"], scores.loc[mine, "scenario"], np.sign(away[mine]))
