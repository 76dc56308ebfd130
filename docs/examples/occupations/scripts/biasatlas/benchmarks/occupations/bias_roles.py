"""Which text of an occupation is the stereotype, for simulated models."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.bias_roles import Roles, text_roles

#: Columns of items whose words a model's word frequencies are counted in.
TEXTS = ("item_id",)


def bias_roles(step: Step) -> Roles:
    """+0.5 for the stereotype, -0.5 for its counterpart; an occupation is a cluster."""
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    about = pd.DataFrame({"cluster": asked["item_id"], "category": asked["category"], "group": asked["category"]})
    signs = step.requests["label"].map({"stereotype": 0.5, "counterpart": -0.5})
    return text_roles(about, step.requests["request_id"], signs)
