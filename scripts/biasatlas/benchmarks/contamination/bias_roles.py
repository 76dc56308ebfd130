"""Which order of a block was published: a simulated model with a bias has seen it."""

import pandas as pd

from biasatlas.benchmarks.contamination.spec import PUBLISHED
from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.bias_roles import Roles, text_roles

#: Columns of items whose words a model's word frequencies are counted in.
TEXTS = ("text",)


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` is 0.5 for the published order, else -0.5; a block is a cluster, a list the group."""
    lists = step.items.set_index("item_id")["category"].loc[step.requests["item_id"]].to_numpy()
    about = pd.DataFrame({"cluster": step.requests["block"].to_numpy(), "category": lists, "group": lists})
    sign = (step.requests["order"] == PUBLISHED).to_numpy() - 0.5
    return text_roles(about, step.requests["request_id"], sign)
