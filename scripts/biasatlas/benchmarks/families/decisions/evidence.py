"""The shift of each level, and the largest of each factor, against placebos."""

from collections.abc import Iterator

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions.spec import DecisionsDescription
from biasatlas.benchmarks.families.decisions.tables import FactorShifts
from biasatlas.benchmarks.shared.evidence import OVERALL, Evidence, items_of
from biasatlas.stats.placebos import NEEDED


def evidence(step: Step) -> Iterator[Evidence]:
    """``shift_over_placebos`` (with too few placebos ``shift``) by factor, of each level and of all."""
    description: DecisionsDescription = step.description
    scores = step.scores
    for name, factor in description.factors.items():
        mine = scores[scores[name].isin(list(factor.values)) | scores["placebo"].notna()]
        shifts = FactorShifts.of(mine, name, description)
        for category, levels in [*((level, [level]) for level in factor.compared), (OVERALL, None)]:
            found, missing = shifts.tested(levels)
            if found is not None:
                yield Evidence(
                    metric=description.tested_metric,
                    part=name,
                    category=category,
                    replicates=found,
                    items=_items(scores[scores[name].isin(levels or factor.compared)], shifts.effects.reference),
                    lower_from=NEEDED,
                    upper_from=NEEDED,
                    interval_from=NEEDED,
                    untestable=found.reason,
                    missing=missing,
                )


def _items(scores: pd.DataFrame, reference: pd.Series) -> pd.DataFrame:
    """The cases of ``scores``, by how far their decisions lie from the ``reference`` of their scenario."""
    away = scores["value"] - scores["scenario"].map(reference)
    known = scores[away.notna()]
    return items_of(known["item_id"], known["scenario"], away[away.notna()])
