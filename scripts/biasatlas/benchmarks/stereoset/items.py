"""The development set as items."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.stereoset.vocabulary import DOMAINS, LIKELIHOOD_TASKS, SENTENCES
from biasatlas.errors import UserError
from biasatlas.resources import Resources

#: Upstream's file; the same without its annotators' labels, which no score uses; and a table of every sentence that
#: a Portuguese translation carries beside its own (StereoSet-PTBR), of which the English columns are read.
_JSON = ("data/dev.json", "derived/dev_without_annotator_labels.json")
_TABLE = "ptbr_llm.csv"


def read_items(files: Mapping[str, Path], resources: Resources) -> pd.DataFrame:
    """Items from ``data/dev.json``, or from a table of its sentences, ``ptbr_llm.csv``.

    One row per example: ``item_id`` (upstream's id), ``task`` ("intrasentence", "intersentence"), ``category`` (the
    domain), ``target`` (the term that scores are averaged over), ``context``, the sentences ``stereotype``,
    ``anti-stereotype`` and ``unrelated`` as published, and their ids (``stereotype_id`` ...). Intrasentence sentences
    are whole: BLANK is filled in, in both places where a context has two.

    Raises :class:`UserError` naming file, example and value for anything else than the published schema.
    """
    file = next((name for name in (*_JSON, _TABLE) if name in files), None)
    if file is None:
        raise UserError(f"StereoSet: expected one of {_JSON}, {_TABLE}, found {sorted(files)}. Fetch the source again.")
    path = files[file]
    examples = _read_table(path) if file == _TABLE else _read_json(path)
    items = pd.DataFrame([_item(example, task, path) for task, example in examples])
    for ids in (items["item_id"], items[[f"{label}_id" for label in SENTENCES]].stack()):
        repeated = ids[ids.duplicated()]
        if len(repeated):
            raise UserError(f"{path}: id {repeated.iloc[0]} occurs more than once; ids must be unique.")
    return items


def _read_json(path: Path) -> Iterator[tuple[str, dict]]:
    with open(path, encoding="utf-8") as file:
        data = json.load(file)["data"]
    for task in LIKELIHOOD_TASKS:
        yield from ((task, example) for example in data[task])


def _read_table(path: Path) -> Iterator[tuple[str, dict]]:
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    examples: dict[tuple[str, str], dict] = {}
    for row in table.to_dict("records"):
        example = {"id": row["cluster_id"], "sentences": []} | {
            key: row[key] for key in ("bias_type", "target", "context")
        }
        examples.setdefault((row["dataset_type"], row["cluster_id"]), example)["sentences"].append(
            {"sentence": row["sentence"], "id": row["sentence_id"], "gold_label": row["gold_label"]}
        )
    return ((task, example) for (task, _), example in examples.items())


def _item(example: dict, task: str, path: Path) -> dict:
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
