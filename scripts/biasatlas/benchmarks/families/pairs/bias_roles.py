"""Which text of a pair is the stereotype."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.pairs.spec import SENTENCES
from biasatlas.benchmarks.shared.bias_roles import Roles, sentence_roles, text_roles

#: Columns of items whose words a model's word frequencies are counted in.
TEXTS = SENTENCES

_SIDE = {"more": 0.5, "less": -0.5}


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` by text; what pairs have in common is a cluster; the group is the direction of a pair."""
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    cluster = asked[step.description.cluster_name]
    about = pd.DataFrame({"cluster": cluster, "category": asked["category"], "group": asked["direction"]})
    if step.task == "pair_choice":
        return sentence_roles(step.requests, about, _SIDE, dict.fromkeys(SENTENCES, 0.0))
    return text_roles(about, step.requests["request_id"], step.requests["label"].str.removesuffix("_end").map(_SIDE))
