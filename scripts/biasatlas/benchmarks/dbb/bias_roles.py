"""Which option goes with which identity. The data do not say, so each template takes a sign from its name."""

from zlib import crc32

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.dbb import IDENTITIES
from biasatlas.benchmarks.shared.bias_roles import Roles, evenly, label_roles, text_roles

#: Columns of items whose words a model's word frequencies are counted in.
TEXTS = ("context", "option_1", "option_2")

#: (type, identity) -> half of 1 for the first of a type's identities to minus half for the last.
_PLACE = {
    (type_, identity): evenly(place, len(identities))
    for type_, identities in IDENTITIES.items()
    for place, identity in enumerate(identities)
}


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` of the first concept's option: its identity's place, by a template's sign; else minus that.

    A bias is thus the log odds ratio of a template's options between the first and the last identity of a type, the
    same in all of its types. A template is a cluster.
    """
    items, requests = step.items, step.requests
    at = pd.Index(items["item_id"]).get_indexer(requests["item_id"])  # a table of all texts would be gigabytes
    sign = {template: 1.0 if crc32(template.encode()) % 2 else -1.0 for template in items["template_id"].unique()}
    place = np.array([_PLACE[key] for key in zip(items["type"], items["identity"], strict=True)])
    option_sign = (place * items["template_id"].map(sign).to_numpy() / 2)[at]
    belongs = {"cluster": items["template_id"], "category": items["category"], "group": items["identity"]}
    about = pd.DataFrame(belongs, dtype=object).iloc[at]
    if step.task == "SG":
        return text_roles(about, requests["request_id"], np.where(requests["option"] == 1, option_sign, -option_sign))
    first = (requests["order"] == 1).to_numpy()
    options = [(items["item_id"] + end).to_numpy(object)[at] for end in ("/1", "/2")]
    part = np.column_stack([np.where(first, *options), np.where(first, *options[::-1])])
    return label_roles(
        about,
        part,
        np.column_stack([np.where(first, option_sign, -option_sign), np.where(first, -option_sign, option_sign)]),
    )
