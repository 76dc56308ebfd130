"""Which sentence of a pair is the stereotype."""

import pandas as pd

from biasatlas.benchmarks.crows_pairs.vocabulary import SENTENCES
from biasatlas.benchmarks.shared.roles import Roles, sentence_roles, text_roles

#: Columns of items whose words a model's word frequencies are counted in.
TEXTS = SENTENCES

_SIDE = {"more": 0.5, "less": -0.5}


def roles(items: pd.DataFrame, requests: pd.DataFrame, task: str) -> Roles:
    """``side`` by sentence; a writer is a cluster; the group is the direction in which a pair was written."""
    asked = items.set_index("item_id").loc[requests["item_id"]].reset_index()
    about = pd.DataFrame({"cluster": asked["writer"], "category": asked["category"], "group": asked["direction"]})
    if task == "pair_choice":
        return sentence_roles(requests, about, _SIDE, dict.fromkeys(SENTENCES, 0.0))
    return text_roles(about, requests["request_id"], requests["label"].map(_SIDE))
