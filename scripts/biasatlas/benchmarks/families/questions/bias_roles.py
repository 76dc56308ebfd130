"""Which option names the target of the stereotype, which the other person, and which is right."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.benchmarks.shared.bias_roles import Roles, label_roles

#: No text of a question is scored by its likelihood.
TEXTS = ()


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` by option, 0 for all of the items without a target; a question template is a cluster.

    The group is that of the item or, where options have groups, that of the target.
    """
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    target, gold, unknown = (
        np.column_stack([asked[name] == label for label in LABELS]) for name in ("target", "gold", "unknown")
    )
    other = ~target & ~unknown & asked["target"].notna().to_numpy()[:, None]
    if step.description.option_groups:
        groups = np.column_stack([asked[f"group_{label}"].fillna("") for label in LABELS])
        group = np.where(target.any(axis=1), groups[np.arange(len(asked)), target.argmax(axis=1)], "")
    else:
        group = asked["group"].to_numpy(object)
    about = pd.DataFrame(
        {
            "cluster": asked["category"] + "/" + asked["template"].astype(str),
            "category": asked["category"],
            "group": group,
        }
    )
    part = np.column_stack([asked["item_id"] + "/" + label for label in LABELS])
    return label_roles(about, part, 0.5 * target - 0.5 * other, right=1.0 * gold, unknown=1.0 * unknown)
