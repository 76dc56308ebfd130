"""The development set as items, and requests for likelihoods, or for a choice between three sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.bias_roles import Roles, sentence_roles, text_roles
from biasatlas.benchmarks.shared.prompting import sentence_choices
from biasatlas.benchmarks.stereoset.spec import (
    COMPARED,
    DOMAINS,
    LABELS,
    LIKELIHOOD_TASKS,
    PROMPTED_TASKS,
    SENTENCES,
    StereoSetOptions,
)
from biasatlas.errors import UserError
from biasatlas.userfiles import check_texts, listed, read_csv_rows, read_json, shown

#: Upstream's file; the same without its annotators' labels, which no score uses; and the table of a Portuguese
#: translation (StereoSet-PTBR), which has every English sentence beside its own; only the English columns are read.
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


def build_requests(step: Step[StereoSetOptions]) -> pd.DataFrame:
    """Requests of one task. Likelihood tasks: a row per sentence, with its ``label`` and upstream ``sentence_id``.

    Intrasentence sentences are scored whole, intersentence ones after their context and a space. Prompted tasks: a row
    per item and order of its options (:func:`biasatlas.benchmarks.shared.prompting.sentence_choices`).

    Under ``swaps: asked`` the task "intrasentence" has more rows, without a ``sentence_id``: the stereotype and the
    anti-stereotype with other targets (:func:`swaps`); their ``label`` ends in the target's place.
    """
    part, items = step.task.removesuffix("_choice"), step.items
    items = items[(items["task"] == part) & items["category"].isin(step.categories)]
    if step.task in PROMPTED_TASKS:
        template = step.resources.text(f"prompts/stereoset/{part}.txt")
        return sentence_choices(items, template, SENTENCES, LABELS, step.options.orders == "rotated", step.options)
    follows = step.task == "intersentence"
    asked = pd.concat(
        [
            pd.DataFrame(
                {
                    "item_id": items["item_id"],
                    "prefix": items["context"] if follows else "",
                    "continuation": " " + items[label] if follows else items[label],
                    "label": label,
                    "sentence_id": items[f"{label}_id"],
                }
            )
            for label in SENTENCES
        ]
    ).sort_index(kind="stable", ignore_index=True)
    if step.options.swaps == "asked" and not follows:
        wanted, targets = set(items["item_id"]), step.resources.yaml(TARGETS)
        rows = [
            (swap.item_id, "", text, f"{label}/{swap.place}", "")
            for swap in swaps(step.items, targets)
            if swap.item_id in wanted
            for label, text in swap.sentences.items()
        ]
        asked = pd.concat([asked, pd.DataFrame(rows, columns=list(asked))], ignore_index=True)
    return pd.DataFrame(
        {
            "request_id": asked["item_id"] + "/" + asked["label"],
            "item_id": asked["item_id"],
            "kind": "likelihood",
            "prefix": asked["prefix"],
            "continuation": asked["continuation"],
            "special_tokens": "once",
            "boundary": "offsets",
            "repeats": 1,
            "label": asked["label"],
            "sentence_id": asked["sentence_id"],
        }
    )


#: The file below ``resources/`` with targets, their articles and plurals.
TARGETS = "stereoset/targets.yaml"
#: How many other targets each item's sentences are asked with, at most.
OTHERS = 2


class Swap(NamedTuple):
    """An item's sentences of :data:`COMPARED`, by label, with ``other`` as their target; ``place`` counts from 0."""

    item_id: str
    place: int
    other: str
    sentences: Mapping[str, str]


def swaps(items: pd.DataFrame, targets: Mapping[str, Any], most: int | None = OTHERS) -> Iterator[Swap]:
    """Swaps of each intrasentence item with at ``most`` this many (None: all) other targets of its domain and form.

    The item's id decides which. An item has none if its target is not in ``targets`` (:data:`TARGETS`), is the only one
    of its form, or is not a word of both sentences.
    """
    there = items[items["task"] == "intrasentence"]
    known: dict[tuple[str, str], list[str]] = {}
    for domain, forms in targets["forms"].items():
        mine = set(there.loc[there["category"] == domain, "target"])
        for names in forms.values():
            for name in names:
                known[domain, name] = [other for other in names if other in mine and other != name]
    for item in there.to_dict("records"):
        name, own = item["item_id"], item["target"]
        others = sorted(known.get((item["category"], own), []), key=lambda other: crc32(f"{name}/{other}".encode()))
        for place, other in enumerate(others[:most]):
            texts = {label: swapped(item[label], own, other, targets) for label in COMPARED}
            if all(texts[label] != item[label] for label in COMPARED):
                yield Swap(name, place, other, texts)


def swapped(text: str, own: str, other: str, targets: Mapping[str, Any]) -> str:
    """``text`` with ``other`` for the target ``own`` or its plural, as a word; article and capitals are adapted.

    Without the target the text is returned as it is.
    """
    plurals: Mapping[str, str] = targets["plurals"]
    names = {name: plurals.get(name, f"{name}s") for name in (own, other)}
    forms = "|".join(re.escape(form) for form in sorted({names[own], own}, key=len, reverse=True))
    word = re.compile(rf"(?:\b(?P<article>an?) )?(?<!\w)(?P<target>{forms})(?!\w)", re.IGNORECASE)

    def put(found: re.Match[str]) -> str:
        target = found["target"]
        new = names[other] if target.lower() == names[own].lower() != own.lower() else other
        new = new.lower() if target.islower() else new[0].upper() + new[1:] if target[0].isupper() else new
        return f"{_article(found['article'], other, targets['an'])}{new}"

    return word.sub(put, text)


def _article(old: str | None, other: str, an: Sequence[str]) -> str:
    """The article before ``other``, in place of the ``old`` one: with a space, or '' where there was none."""
    if old is None:
        return ""
    new = "an" if other in an else "a"
    return f"{new.capitalize() if old[0].isupper() else new} "


#: Columns of items in which the word frequencies of a simulated model are counted.
TEXTS = SENTENCES

_SIDE = dict(zip(SENTENCES, (0.5, -0.5, 0.0), strict=True))
_RIGHT = dict(zip(SENTENCES, (1.0, 1.0, 0.0), strict=True))


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` and ``right`` (a related sentence) by sentence; a target term is a cluster, and the group."""
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    about = pd.DataFrame({"cluster": asked["target"], "category": asked["category"], "group": asked["target"]})
    if step.task in PROMPTED_TASKS:
        return sentence_roles(step.requests, about, _SIDE, _RIGHT)
    label = step.requests["label"].str.replace(r"/\d+$", "", regex=True)
    own = label == step.requests["label"]
    sign = label.map(_SIDE).where(own, 0.0)  # with another target it is no stereotype
    return text_roles(about, step.requests["request_id"], sign, right=label.map(_RIGHT), edits=(~own).astype(float))
