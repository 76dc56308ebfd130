"""The development set as items."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.stereoset.spec import DOMAINS, LIKELIHOOD_TASKS, SENTENCES
from biasatlas.errors import UserError
from biasatlas.userfiles import check_texts, listed, read_csv_rows, read_json, shown

#: Upstream's file; the same without its annotators' labels, which no score uses; and a table of every sentence that
#: a Portuguese translation carries beside its own (StereoSet-PTBR), of which the English columns are read.
_JSON = ("data/dev.json", "derived/dev_without_annotator_labels.json")
_TABLE = "ptbr_llm.csv"
_TABLE_COLUMNS = (
    "dataset_type",
    "cluster_id",
    "bias_type",
    "target",
    "context",
    "sentence",
    "sentence_id",
    "gold_label",
)


def read_items(step: Step) -> pd.DataFrame:
    """The items of :func:`read_examples`."""
    return read_examples(step.files)


def read_examples(files: Mapping[str, Path]) -> pd.DataFrame:
    """Items from ``data/dev.json``, or from a table of its sentences, ``ptbr_llm.csv``.

    One row per example: ``item_id`` (upstream's id), ``task`` ("intrasentence", "intersentence"), ``category`` (the
    domain), ``target`` (the term that scores are averaged over), ``context``, the sentences ``stereotype``,
    ``anti-stereotype`` and ``unrelated`` as published, and their ids (``stereotype_id`` ...). Intrasentence sentences
    are whole: BLANK is filled in, in both places where a context has two.

    Raises :class:`UserError` naming file, example and value for anything else than the published schema.
    """
    file = next((name for name in (*_JSON, _TABLE) if name in files), None)
    if file is None:
        raise UserError(
            f"StereoSet: expected one of {', '.join((*_JSON, _TABLE))}, found {listed(files)}. Fetch the source again."
        )
    examples = _read_table(files[file]) if file == _TABLE else _read_json(files[file])
    items = pd.DataFrame([_item(where, task, example) for where, task, example in examples])
    for ids in (items["item_id"], items[[f"{label}_id" for label in SENTENCES]].stack()):
        repeated = ids[ids.duplicated()]
        if len(repeated):
            raise UserError(f"{files[file]}: id {shown(repeated.iloc[0])} occurs more than once; ids must be unique.")
    return items


def _read_json(path: Path) -> Iterator[tuple[str, str, Any]]:
    """(file, task and position for messages, task, example)"""
    content = read_json(path)
    data = content.get("data") if isinstance(content, dict) else None
    for task in LIKELIHOOD_TASKS:
        examples = data.get(task) if isinstance(data, dict) else None
        if not isinstance(examples, list) or not examples:
            raise UserError(
                f'{path}: no list of examples of the task {task}. Expected {{"data": {{"{task}": [...], ...}}}}: '
                "fetch the source again."
            )
        yield from ((f"{path}, {task} example {number}", task, example) for number, example in enumerate(examples, 1))


def _read_table(path: Path) -> Iterator[tuple[str, str, Any]]:
    """(file and line for messages, task, example)"""
    examples: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
    for where, row in read_csv_rows(path, _TABLE_COLUMNS):
        task = row["dataset_type"]
        if task not in LIKELIHOOD_TASKS:
            raise UserError(f"{where}: dataset_type is {shown(task)}, expected one of {LIKELIHOOD_TASKS}.")
        shared = {"id": row["cluster_id"]} | {key: row[key] for key in ("bias_type", "target", "context")}
        first, example = examples.setdefault((task, row["cluster_id"]), (where, shared | {"sentences": []}))
        if example | shared != example:
            raise UserError(
                f"{where}: bias_type, target or context differ from those of the same cluster_id in {first}."
            )
        example["sentences"].append(
            {"sentence": row["sentence"], "id": row["sentence_id"], "gold_label": row["gold_label"]}
        )
    for task in LIKELIHOOD_TASKS:
        if task not in {known for known, _ in examples}:
            raise UserError(f"{path}: no row of dataset_type {task}. Fetch the source again.")
    return ((where, task, example) for (task, _), (where, example) in examples.items())


def _item(where: str, task: str, example: Any) -> dict[str, str]:
    if not isinstance(example, dict):
        raise UserError(
            f"{where}: {shown(example)}. Expected an object with id, bias_type, target, context, sentences."
        )
    check_texts(where, example, ("id", "target", "context"))
    where = f"{where} ({shown(example['id'])})"
    if example.get("bias_type") not in DOMAINS:
        raise UserError(f"{where}: bias_type is {shown(example.get('bias_type'))}, expected one of {DOMAINS}.")
    if task == "intrasentence" and "BLANK" not in example["context"]:
        raise UserError(f"{where}: no BLANK in the context {shown(example['context'])}. Put it where the words go.")
    sentences = _sentences(where, example.get("sentences"))
    return {
        "item_id": example["id"],
        "task": task,
        "category": example["bias_type"],
        "target": example["target"],
        "context": example["context"],
        **{label: sentences[label]["sentence"] for label in SENTENCES},
        **{f"{label}_id": sentences[label]["id"] for label in SENTENCES},
    }


def _sentences(where: str, sentences: Any) -> dict[str, dict[str, str]]:
    """Gold label -> sentence."""
    if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
        raise UserError(f"{where}: sentences is {shown(sentences)}. Expected a list of three objects.")
    for sentence in sentences:
        check_texts(where, sentence, ("gold_label", "sentence", "id"))
    labels = [sentence["gold_label"] for sentence in sentences]
    if sorted(labels) != sorted(SENTENCES):
        raise UserError(f"{where}: expected one sentence of each of {SENTENCES}, found {shown(labels)}.")
    return {sentence["gold_label"]: sentence for sentence in sentences}
