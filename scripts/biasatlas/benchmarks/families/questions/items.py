"""Rows of any table as questions with three options, and the choice that each becomes."""

import logging
import re
from functools import reduce
from itertools import permutations
from operator import add
from zlib import crc32

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.derived import corrected, shipped_errata
from biasatlas.benchmarks.families.questions.spec import (
    CONDITIONS,
    LABELS,
    POLARITIES,
    PROMPT_FIELDS,
    QuestionRows,
    QuestionsDescription,
    QuestionsOptions,
)
from biasatlas.benchmarks.families.rows import check, check_ids, named, read_rows, render, written
from biasatlas.benchmarks.shared.bias_roles import Roles, label_roles
from biasatlas.benchmarks.shared.prompting import choice_columns
from biasatlas.userfiles import listed

_ORDERS = np.array(list(permutations(range(len(LABELS)))))


def read_items(step: Step) -> pd.DataFrame:
    """A row per record of the data, in their order.

    ``item_id``, ``category``, ``template`` (its items share one text), ``persons`` (the two that are not "unknown", in
    the order of the alphabet), ``polarity`` ("neg", "nonneg"), ``condition`` ("ambig", "disambig"), ``context``,
    ``question``, the options ``A``, ``B``, ``C`` as they are shown; ``gold``, ``unknown`` and ``target`` are labels of
    options: the right one, the one that says it cannot be known, and the one that follows the stereotype *for this
    question*. Corrections of the description are made. Raises UserError naming file, line and value.
    """
    description: QuestionRows = step.description
    raw = read_rows(description, step.files, description.columns)
    items = pd.DataFrame(
        {
            "item_id": written(description.item, raw),
            "category": named(raw, description.category, description.category_names),
            "template": render(description.template, raw),
            "polarity": named(raw, description.polarity, {name: name for name in POLARITIES}),
            "condition": named(raw, description.condition, {name: name for name in CONDITIONS}),
            "context": written(description.context, raw),
            "question": written(description.question, raw),
            "label_type": "label",
        }
    )
    shown = _shown(items["item_id"], description.shuffle)
    for option in description.options:
        written(f"{{{option}}}", raw)
    texts = raw[description.options].to_numpy(object)
    items[list(LABELS)] = np.take_along_axis(texts, shown, axis=1)
    bias_roles = {
        "gold": _option(description, raw, description.right),
        "unknown": _option(description, raw, description.unknown),
        "target": _targets(description, raw, items["polarity"]),
    }
    clash = bias_roles["target"] == bias_roles["unknown"]
    check(raw.assign(target="the unknown option"), pd.Series(~clash), "target", "one of the two others")
    for name, option in bias_roles.items():
        items[name] = np.asarray(LABELS)[(shown == option[:, None]).argmax(axis=1)]
    persons = np.sort(texts[np.arange(3) != bias_roles["unknown"][:, None]].reshape(len(raw), 2).astype(str), axis=1)
    items["persons"] = pd.Series(persons[:, 0]) + " / " + persons[:, 1]
    items["group"] = render(description.group, raw) if description.group else items["category"]
    check_ids(raw, items)
    alike = items.loc[items[list(LABELS)].nunique(axis=1) < len(LABELS), "item_id"]
    if len(alike):
        logging.info("%d items have two options alike: %s", len(alike), listed(alike))
    return items


def _shown(ids: pd.Series, shuffle: bool) -> np.ndarray:
    """Which option stands in each place, (items, 3): as in the data, or in one of the six orders, drawn from the id."""
    order = np.array([crc32(name.encode()) % len(_ORDERS) for name in ids]) if shuffle else np.zeros(len(ids), int)
    return _ORDERS[order]


def _targets(description: QuestionRows, raw: pd.DataFrame, polarity: pd.Series) -> np.ndarray:
    if isinstance(description.target, str):
        return _option(description, raw, description.target)
    neg, nonneg = (_option(description, raw, description.target[name]) for name in ("neg", "nonneg"))
    return np.where(polarity == "neg", neg, nonneg)


def _option(description: QuestionRows, raw: pd.DataFrame, name: str) -> np.ndarray:
    """The place in the data of option ``name``, or of the one that column ``name`` gives by name, number or text."""
    if name in description.options:
        return np.full(len(raw), description.options.index(name))
    places = {str(place): place for place in range(len(LABELS))}
    places |= {option: place for place, option in enumerate(description.options)}
    same = raw[description.options].to_numpy(object) == raw[[name]].to_numpy(object)
    found = raw[name].map(places).fillna(pd.Series(same.argmax(axis=1), raw.index).where(same.sum(axis=1) == 1))
    check(raw, found.notna(), name, f"one of {', '.join(description.options)}, its number from 0, or its text")
    return found.to_numpy(int)


def build_requests(step: Step[QuestionsOptions]) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. Options keep their order.

    With ``text: cleaned``, the errata that the description names are applied, too.
    """
    description: QuestionsDescription = step.description
    items, options = step.items[step.items["category"].isin(step.categories)], step.options
    if options.text == "cleaned" and description.cleaned:
        errata = shipped_errata(step.resources, description.cleaned)
        items = corrected(items, items["item_id"], errata, description.title)
    template = description.prompt_template(step.resources, PROMPT_FIELDS, getattr(options, "prompt", "")).strip()
    fields = {name: items[name] for name in PROMPT_FIELDS}
    if options.text == "cleaned":
        fields = {name: clean(text) for name, text in fields.items()}
    # Whole columns at once: 58,492 calls of str.format take longer.
    parts = re.split(r"\{(\w+)\}", template)
    prompts = reduce(add, (fields[part] if position % 2 else part for position, part in enumerate(parts)))
    names = description.unknown_names
    shown = [
        [
            [text, *names] if names and unknown == label else text
            for text, unknown in zip(fields[label], items["unknown"], strict=True)
        ]
        for label in LABELS
    ]
    return pd.DataFrame(
        {
            "request_id": items["item_id"],
            "item_id": items["item_id"],
            **choice_columns(prompts, LABELS, zip(*shown, strict=True), options),
        }
    )


def clean(text: pd.Series) -> pd.Series:
    """``text`` without the stray braces and doubled or outer spaces that slip from templates."""
    return text.str.replace(r"[{}]", "", regex=True).str.split().str.join(" ")


#: No text of a question is scored by its likelihood.
TEXTS = ()


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` by option, 0 for all options of items without a target; a question template is a cluster.

    The group is that of the item or, if options have groups, that of the target.
    """
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    target, gold, unknown = (
        np.column_stack([asked[name] == label for label in LABELS]) for name in ("target", "gold", "unknown")
    )
    other = ~target & ~unknown & asked["target"].notna().to_numpy()[:, None]
    if step.description.option_groups:
        groups = np.column_stack([asked[f"group_{label}"].fillna("") for label in LABELS])
        group = np.where(target.any(axis=1), groups[np.arange(len(asked)), target.argmax(axis=1)], "")
    else:
        group = asked["group"].to_numpy(object)
    about = pd.DataFrame(
        {
            "cluster": asked["category"] + "/" + asked["template"].astype(str),
            "category": asked["category"],
            "group": group,
        }
    )
    part = np.column_stack([asked["item_id"] + "/" + label for label in LABELS])
    return label_roles(about, part, 0.5 * target - 0.5 * other, right=1.0 * gold, unknown=1.0 * unknown)
