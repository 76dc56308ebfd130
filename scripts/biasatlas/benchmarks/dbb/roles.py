"""Which option goes with which identity. The data do not say, so each template takes a sign from its name."""

from zlib import crc32

import numpy as np
import pandas as pd

from biasatlas.benchmarks.dbb.vocabulary import IDENTITIES
from biasatlas.benchmarks.shared.roles import Roles, evenly, label_roles, text_roles

#: Columns of items whose words a model's word frequencies are counted in.
TEXTS = ("context", "option_1", "option_2")

#: (type, identity) -> half of 1 for the first of a type's identities to minus half for the last.
_PLACE = {
    (type_, identity): evenly(place, len(identities))
    for type_, identities in IDENTITIES.items()
    for place, identity in enumerate(identities)
}


def roles(items: pd.DataFrame, requests: pd.DataFrame, task: str) -> Roles:
    """``side`` of the first concept's option is the identity's place, by a template's sign; of the other minus that.

    A bias is thus the log odds ratio of a template's options between the first and the last identity of a type, the same
    in all of its types. A template is a cluster.
    """
    asked = items.set_index("item_id").loc[requests["item_id"]].reset_index()
    sign = {template: 1.0 if crc32(template.encode()) % 2 else -1.0 for template in asked["template_id"].unique()}
    place = np.array([_PLACE[key] for key in zip(asked["type"], asked["identity"], strict=True)])
    side = place * asked["template_id"].map(sign).to_numpy() / 2
    about = pd.DataFrame({"cluster": asked["template_id"], "category": asked["category"], "group": asked["identity"]})
    if task == "SG":
        return text_roles(about, requests["request_id"], np.where(requests["option"] == 1, side, -side))
    first = (requests["order"] == 1).to_numpy()
    part = np.column_stack(
        [np.where(shown, asked["item_id"] + "/1", asked["item_id"] + "/2") for shown in (first, ~first)]
    )
    return label_roles(about, part, np.column_stack([np.where(first, side, -side), np.where(first, -side, side)]))
