"""Which option is right, and which says that there is no difference."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.contexts.spec import LABELS, NO_DIFFERENCE
from biasatlas.benchmarks.shared.bias_roles import Roles, label_roles

#: No text of a question is scored by its likelihood.
TEXTS = ()


def bias_roles(step: Step) -> Roles:
    """Where groups are equal, to tell them apart is the bias; a scenario is a cluster, the condition a group."""
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    about = asked[["category"]].assign(cluster=asked["scenario"], group=asked["condition"])
    right = np.column_stack([asked["gold"] == label for label in LABELS])
    unknown = np.tile([float(label == NO_DIFFERENCE) for label in LABELS], (len(asked), 1))
    equal = (asked["condition"] == "equal").to_numpy()[:, None]
    part = np.column_stack([asked["item_id"] + "/" + label for label in LABELS])
    return label_roles(pd.DataFrame(about), part, equal * (0.5 - unknown), right=1.0 * right, unknown=unknown)
