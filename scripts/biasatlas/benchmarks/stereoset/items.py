"""The development set as items."""

import json

import pandas as pd

from biasatlas.benchmarks.stereoset import DOMAINS, SENTENCES
from biasatlas.errors import UserError

#: Upstream's file, and the same without the five annotators' labels, which no score uses.
_NAMES = ("data/dev.json", "derived/dev_without_annotator_labels.json")


def read_items(files: dict[str, str]) -> pd.DataFrame:
    """Items from ``data/dev.json``.

    One row per example: ``item_id`` (upstream's id), ``task`` ("intrasentence", "intersentence"), ``category`` (the
    domain), ``target`` (the term that scores are averaged over), ``context``, the sentences ``stereotype``,
    ``anti-stereotype`` and ``unrelated`` as published, and their ids (``stereotype_id`` ...). Intrasentence sentences
    are whole: BLANK is filled in, in both places where a context has two.

    Raises :class:`UserError` naming file, example and value for anything else than the published schema.
    """
    path = next((files[name] for name in _NAMES if name in files), None)
    if path is None:
        raise UserError(f"StereoSet: expected one of {_NAMES}, found {sorted(files)}. Fetch the source again.")
    with open(path, encoding="utf-8") as file:
        data = json.load(file)["data"]
    items = pd.DataFrame(
        [_item(example, task, path) for task in ("intrasentence", "intersentence") for example in data[task]]
    )
    for ids in (items["item_id"], items[[f"{label}_id" for label in SENTENCES]].stack()):
        repeated = ids[ids.duplicated()]
        if len(repeated):
            raise UserError(f"{path}: id {repeated.iloc[0]} occurs more than once; ids must be unique.")
    return items


def _item(example: dict, task: str, path: str) -> dict:
    sentences = {sentence["gold_label"]: sentence for sentence in example["sentences"]}
    labels = [sentence["gold_label"] for sentence in example["sentences"]]
    if sorted(labels) != sorted(SENTENCES):
        raise UserError(f"{path}, {task} example {example['id']}: expected one each of {SENTENCES}, found {labels}.")
    if example["bias_type"] not in DOMAINS:
        raise UserError(
            f"{path}, {task} example {example['id']}: bias_type {example['bias_type']!r}, expected one of {DOMAINS}."
        )
    return {
        "item_id": example["id"],
        "task": task,
        "category": example["bias_type"],
        "target": example["target"],
        "context": example["context"],
        **{label: sentences[label]["sentence"] for label in SENTENCES},
        **{f"{label}_id": sentences[label]["id"] for label in SENTENCES},
    }
