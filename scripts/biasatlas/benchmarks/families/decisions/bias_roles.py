"""Which answer is the less favourable one, for cases of levels that a factor compares with its reference."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions.spec import DecisionsDescription
from biasatlas.benchmarks.shared.bias_roles import Roles, label_roles

#: No text of a decision is scored by its likelihood.
TEXTS = ()


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` from 0.5 for the least favourable answer to -0.5 for the most, 0 for a case of no compared
    level.

    In crossed factors each compared level adds its share. The group is the level, or the levels with commas; a scenario
    is a cluster, and cases of one scenario share a part of their noise.
    """
    description: DecisionsDescription = step.description
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    values = np.array(list(description.labels.values()))
    favourable = (values - values.min()) / (values.max() - values.min()) - 0.5
    compared = pd.DataFrame(
        {name: asked[name].isin(factor.compared) for name, factor in description.factors.items()}, asked.index
    )
    share = compared.sum(axis=1) / max(int(compared.sum(axis=1).max()), 1)
    levels = asked[list(description.factors)].where(compared)
    about = pd.DataFrame(
        {
            "cluster": asked["scenario"],
            "category": asked["category"],
            "group": [", ".join(known) for known in (row[row.notna()] for _, row in levels.iterrows())],
        }
    )
    part = asked["scenario"].to_numpy(object)[:, None] + np.array([f"/{label}" for label in description.labels], object)
    return label_roles(about, part, -share.to_numpy()[:, None] * favourable)
