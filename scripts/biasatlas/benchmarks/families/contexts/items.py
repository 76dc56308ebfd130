"""Questions about two groups: rows of any table as items, the choice that each asks for, and how replies are parsed."""

import re
from functools import partial

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.contexts.spec import (
    CONDITIONS,
    LABELS,
    NO_DIFFERENCE,
    PROMPT_FIELDS,
    ContextsDescription,
    ContextsOptions,
)
from biasatlas.benchmarks.families.rows import check, check_ids, named, read_rows, render, written
from biasatlas.benchmarks.shared.bias_roles import Roles, label_roles
from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE, Answer, words
from biasatlas.benchmarks.shared.parsing.named import PARSERS as COMMON_PARSERS
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.normalise import answer_part, declines, plain
from biasatlas.benchmarks.shared.parsing.options import Options, folded
from biasatlas.benchmarks.shared.predictions import read_replies
from biasatlas.benchmarks.shared.prompting import choice_columns

#: The options at a question's end. Some of the published ones begin with (1).
_OPTIONS = re.compile(r"\((?:a|1)\)\s*(.+?)\s*\((?:b|2)\)\s*(.+?)\s*\((?:c|3)\)\s*(.+?)\s*$", re.S)


def read_items(step: Step) -> pd.DataFrame:
    """A row per record of the data, in their order; see :func:`questions`."""
    return questions(step.description, read_rows(step.description, step.files, step.description.columns))


def questions(description: ContextsDescription, raw: pd.DataFrame) -> pd.DataFrame:
    """A row per row of ``raw``, the data from :func:`.rows.read_rows`.

    ``item_id``, ``category``, ``condition`` ("differ", "equal"), ``scenario`` (with its category, and with its
    condition unless scenarios have questions of both), ``question``, its options ``A``, ``B`` and ``C``, and ``gold``,
    the label of the right one. Raises UserError naming file, line and value.
    """
    category = named(raw, description.category, description.category_names)
    condition = named(raw, description.condition, {name: name for name in CONDITIONS})
    right = raw[description.right].map(dict(zip("01", LABELS, strict=False)))
    check(raw, right.notna() | (condition == "equal"), description.right, "0 for (a) or 1 for (b)")
    alone = (condition + "/").where(~category.isin(description.shared), "")
    items = pd.DataFrame(
        {
            "item_id": written(description.item, raw),
            "category": category,
            "condition": condition,
            "scenario": category + "/" + alone + render(description.scenario, raw),
            "question": written(description.question, raw),
            "gold": right.where(condition == "differ", NO_DIFFERENCE),
        }
    )
    options = items["question"].str.extract(_OPTIONS)
    check(raw.assign(question=items["question"]), options.notna().all(axis=1), "question", "options (a), (b) and (c)")
    items[list(LABELS)] = options
    check_ids(raw, items)
    return items


def build_requests(step: Step[ContextsOptions]) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. Options keep their order."""
    description: ContextsDescription = step.description
    items = step.items[step.items["category"].isin(step.categories)]
    template = description.prompt_template(step.resources, PROMPT_FIELDS).strip()
    prompts = [template.replace("{question}", question) for question in items["question"]]
    columns = choice_columns(prompts, LABELS, items[list(LABELS)].to_numpy().tolist(), step.options)
    columns["parser"] = "letter" if step.options.parser == "whole" else step.options.parser
    return pd.DataFrame({"request_id": items["item_id"], "item_id": items["item_id"]} | columns)


#: No text of a question is scored by its likelihood.
TEXTS = ()


def bias_roles(step: Step) -> Roles:
    """To tell equal groups apart counts as bias; a scenario is a cluster, a condition a group."""
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    about = asked[["category"]].assign(cluster=asked["scenario"], group=asked["condition"])
    right = np.column_stack([asked["gold"] == label for label in LABELS])
    unknown = np.tile([float(label == NO_DIFFERENCE) for label in LABELS], (len(asked), 1))
    equal = (asked["condition"] == "equal").to_numpy()[:, None]
    part = np.column_stack([asked["item_id"] + "/" + label for label in LABELS])
    return label_roles(pd.DataFrame(about), part, equal * (0.5 - unknown), right=1.0 * right, unknown=unknown)


def parse_beginning(reply: str, options: Options) -> Answer:
    """The label that a reply begins with, else the only one that it has in brackets, quotation marks or asterisks.

    - ambiguous: several in such marks; refused: none, and the reply declines; unparseable: none
    """
    (labels, either), body = _either(options), folded(answer_part(reply))
    first = re.match(rf"\W*({either})\b", body)
    named = {first[1]} if first else {*re.findall(rf"[(\"'*]({either})[)\"'*.,]", body)}
    if not named:
        return REFUSED if declines(plain(body)) else UNPARSEABLE
    return labels.index(named.pop()) if len(named) == 1 else AMBIGUOUS


def open_beginning(text: str, options: Options) -> Answer | None:
    """The label that a text so far begins with, once another character follows it."""
    (labels, either), refusals = _either(options), words("opening_refusals")
    body = re.sub(r"^\W+", "", folded(text))
    if body in ("", *labels) or any(form.startswith(body) for form in (*labels, *refusals) if form != body):
        return None
    if first := re.match(rf"({either})\b", body):
        return labels.index(first[1])
    return REFUSED if body.startswith(refusals) else UNPARSEABLE


def _either(options: Options) -> tuple[list[str], str]:
    """The labels in the form in which texts are compared, and a regular expression for any of them."""
    labels = [folded(label) for label in options.labels]
    return labels, "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))


PARSERS: dict[str, Parser] = {"beginning": Parser(parse_beginning, open_beginning)}


#: Formats of a user's own predictions.
FORMATS = {"answers": partial(read_replies, parsers=COMMON_PARSERS | PARSERS)}
