"""Which word of a list stands in a sentence, which answer is right, and what a judge finds in an analysis."""

import json
import re

import numpy as np
import pandas as pd

from biasatlas.benchmarks.shared.roles import Roles, evenly, label_roles, text_roles

#: Columns of items whose characters a model's frequencies are counted in.
TEXTS = ("context", "sentence")

#: How an analysis states what share of a judge's points it is worth.
STATED = re.compile(r"质量：(\d\.\d+)")


def roles(items: pd.DataFrame, requests: pd.DataFrame, task: str) -> Roles:
    """A subcategory is a cluster, and the group.

    PC and SS: ``side`` goes from the first word of an item's list to the last. SC: ``right`` is the right subcategory.
    BS: ``right`` is minus the distance from the annotators' severity, ``side`` half of 1 for the least severity to minus
    half for the greatest. A judge's scores: ``right`` is minus the distance from the share that the analysis states; where
    it states none, no label has a value.
    """
    asked = items.set_index("item_id").loc[requests["item_id"]].reset_index()
    about = pd.DataFrame(
        {"cluster": asked["subcategory"], "category": asked["category"], "group": asked["subcategory"]}
    )
    words = [json.loads(text) for text in asked["words"]]
    if task == "PC":
        places = [_place(listed, word) for listed, word in zip(words, requests["word"], strict=True)]
        return text_roles(about, requests["request_id"], places)
    if "labels" not in requests or requests["labels"].isna().all():  # an analysis: nothing to choose from
        return text_roles(about, requests["request_id"], np.zeros(len(requests)))
    labels = [json.loads(text) for text in requests["labels"]]
    part = _matrix(
        [[f"{item}/{label}" for label in row] for item, row in zip(requests["item_id"], labels, strict=True)]
    )
    exists = _matrix([[0.0] * len(row) for row in labels]).astype(float)
    if task == "SS":
        pairs = zip(words, requests["first_word"], requests["second_word"], strict=True)
        side = exists + [
            [_place(listed, one), _place(listed, two), np.nan][: exists.shape[1]] for listed, one, two in pairs
        ]
        part = requests[["item_id", "first_word", "second_word"]].to_numpy(object)
        part = np.column_stack([part[:, 0] + "/" + part[:, 1], part[:, 0] + "/" + part[:, 2], part[:, 0]])
        return label_roles(about, part[:, : exists.shape[1]], side)
    if task == "SC":
        right = [
            [float(label == name) for label in row] for row, name in zip(labels, requests["subcategory"], strict=True)
        ]
        return label_roles(about, part, exists, right=exists + _matrix(right).astype(float))
    value = _matrix([[float(label) for label in row] for row in labels]).astype(float)
    if "criterion" in requests:
        stated = [STATED.search(messages) for messages in requests["messages"]]
        share = np.array([float(match[1]) if match else np.nan for match in stated])
        wanted = share * np.nanmax(value, axis=1)
        return label_roles(about, part, exists + 0 * wanted[:, None], right=-abs(value - wanted[:, None]))
    return label_roles(about, part, 0.5 - value / 10, right=-abs(value - asked["severity"].to_numpy()[:, None]))


def _place(listed: list[str], word: str) -> float:
    words = list(dict.fromkeys(listed))
    return float(evenly(words.index(word), len(words)))


def _matrix(rows: list[list]) -> np.ndarray:
    """``rows`` as one array; NaN beyond the end of a shorter one."""
    width = max(map(len, rows))
    return np.array([[*row, *[np.nan] * (width - len(row))] for row in rows], object)
