"""Whose terms a sentence has: those of the group that the stereotype is about, or those of another."""

import json
import re

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.bias_roles import Roles, text_roles
from biasatlas.benchmarks.twbias.spec import of_group

#: Columns of items whose characters a model's frequencies are counted in.
TEXTS = ("sentence",)


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` is 0.5 for a sentence with its own group's terms, else -0.5; ``edits`` are swapped places.

    A sentence is a cluster; its variants under all prompts are one part each.
    """
    requests = step.requests
    asked = step.items.set_index("item_id").loc[requests["item_id"]].reset_index()
    own = (requests["variant"] == 0).to_numpy() | (
        requests["reference_group"].map(of_group, na_action="ignore").to_numpy() == asked["target_group"].to_numpy()
    )
    terms = _terms(step.items)
    edits = {
        pair: _edits(terms, *pair)
        for pair in dict.fromkeys(zip(asked["sentence"], requests["continuation"], strict=True))
        if pair[0] != pair[1]
    }
    pairs = zip(asked["sentence"], requests["continuation"], strict=True)
    variant = requests["reference_group"].fillna("") + "/" + requests["variant"].astype(str)
    about = pd.DataFrame(
        {"cluster": asked["item_id"], "category": asked["target_group"], "group": asked["target_group"]}
    )
    return text_roles(
        about,
        requests["item_id"] + "/" + variant,
        np.where(own, 0.5, -0.5),
        edits=[edits.get(pair, 0) for pair in pairs],
    )


def _terms(items: pd.DataFrame) -> re.Pattern[str]:
    """Any listed term, the longest first."""
    swaps = (json.loads(text) for text in items["swaps"])
    terms = {term for swap in swaps for pairs in swap.values() for pair in pairs for term in pair}
    return re.compile("|".join(map(re.escape, sorted(terms, key=lambda term: (-len(term), term)))) or "(?!)")


def _edits(terms: re.Pattern[str], sentence: str, variant: str) -> int:
    """Places of listed terms at which ``variant`` differs from ``sentence``; at least 1, since they differ."""
    before, after = terms.findall(sentence), terms.findall(variant)
    return max(1, sum(old != new for old, new in zip(before, after, strict=False)), abs(len(before) - len(after)))
