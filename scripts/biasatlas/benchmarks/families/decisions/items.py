"""Rows of any table as cases, the decision that each asks for, and how replies are parsed."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.contexts.items import PARSERS as BY_BEGINNING
from biasatlas.benchmarks.families.decisions.spec import (
    BASELINE,
    ONE_CATEGORY,
    PROMPT_FIELDS,
    DecisionsDescription,
    DecisionsOptions,
)
from biasatlas.benchmarks.families.rows import check, check_ids, named, read_rows, written
from biasatlas.benchmarks.shared.bias_roles import Roles, label_roles
from biasatlas.benchmarks.shared.parsing import Answer
from biasatlas.benchmarks.shared.parsing.named import PARSERS as COMMON_PARSERS
from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.numbers import parse_number
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.benchmarks.shared.predictions import read_replies
from biasatlas.benchmarks.shared.prompting import choice_columns
from biasatlas.errors import UserError


def read_items(step: Step) -> pd.DataFrame:
    """A row per record of the data, in their order; see :func:`cases`."""
    return cases(step.description, read_rows(step.description, step.files, step.description.columns))


def cases(description: DecisionsDescription, raw: pd.DataFrame) -> pd.DataFrame:
    """A row per row of ``raw``, the data from :func:`.rows.read_rows`.

    ``item_id``, ``category``, ``scenario``, ``arm`` (what was changed, "" without such a column; "baseline": nothing),
    ``placebo`` (its kind, if it is one), ``document``, and a column for each factor, with the case's level (missing:
    none). Raises UserError, naming file, line and value, for a row that is of no level, no placebo and not the
    baseline; and if one of these has no row, or no scenario has two cases.
    """
    arm = raw[description.arm] if description.arm else pd.Series("", raw.index)
    baseline = arm.eq(description.baseline) & bool(description.baseline)
    items = pd.DataFrame(
        {
            "item_id": written(description.item, raw),
            "category": named(raw, description.category, description.category_names)
            if description.category
            else ONE_CATEGORY,
            "scenario": written(description.scenario, raw),
            "arm": arm.mask(baseline, BASELINE),
            "placebo": arm.map(description.placebo_kind),
            "document": written(description.document, raw),
        }
    )
    control = items["placebo"].notna() | baseline
    known = control.copy()
    for name, factor in description.factors.items():
        level = {value: level for level, values in factor.values.items() for value in values}
        column = factor.column or description.arm
        items[name] = raw[column].map(level).where(~control)
        if factor.column:
            check(raw, items[name].notna() | control, column, f"one of {', '.join(level)}")
        known |= items[name].notna()
    if description.arm:
        check(raw, known, description.arm, "a level of a factor, a placebo or the baseline: name it in the description")
    check_ids(raw, items)
    gone = [
        f"{description.arm} {each!r}, which the description names as the baseline or a placebo"
        for each in [description.baseline, *description.placebo_kind]
        if each and not arm.eq(each).any()
    ]
    gone += [
        f"the level {level!r} of {name}, which the description names"
        for name, factor in description.factors.items()
        for level in factor.values
        if not items[name].eq(level).any()
    ]
    if gone:
        raise UserError(
            f"{description.title}: no case has {gone[0]}. Add its cases, or take it out of the description."
        )
    if items["scenario"].is_unique:
        raise UserError(
            f"{description.title}: scenario {description.scenario!r} is another one in each of {len(items)} cases, so "
            "that nothing can be compared. Name what the cases of a posting or a question share."
        )
    return items.astype(object).where(items.notna(), None).replace({np.nan: None})


def build_requests(step: Step[DecisionsOptions]) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. The labels are the words or numbers that decide."""
    description: DecisionsDescription = step.description
    items = step.items[step.items["category"].isin(step.categories)]
    template = description.prompt_template(step.resources, PROMPT_FIELDS).strip()
    prompts = [template.replace("{document}", document) for document in items["document"]]
    labels = list(description.labels)
    columns = choice_columns(prompts, labels, [labels] * len(items), step.options)
    whole = "label" if description.yes_no else "rank" if description.rank else "integer"
    parser = whole if step.options.parser == "whole" else step.options.parser
    ids = {"request_id": items["item_id"], "item_id": items["item_id"]}
    return pd.DataFrame(ids | columns | {"labels": json.dumps(labels), "parser": parser})


#: No text of a decision is scored by its likelihood.
TEXTS = ()


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` from 0.5 for the least favourable answer to -0.5 for the most, 0 for a case of no compared
    level.

    In crossed factors each compared level adds its share. The group is the level, or the levels with commas; a scenario
    is a cluster, and cases of one scenario share a part of their noise.
    """
    description: DecisionsDescription = step.description
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    values = np.array(list(description.labels.values()))
    favourable = (values - values.min()) / (values.max() - values.min()) - 0.5
    compared = pd.DataFrame(
        {name: asked[name].isin(factor.compared) for name, factor in description.factors.items()}, asked.index
    )
    share = compared.sum(axis=1) / max(int(compared.sum(axis=1).max()), 1)
    levels = asked[list(description.factors)].where(compared)
    about = pd.DataFrame(
        {
            "cluster": asked["scenario"],
            "category": asked["category"],
            "group": [", ".join(known) for known in (row[row.notna()] for _, row in levels.iterrows())],
        }
    )
    part = asked["scenario"].to_numpy(object)[:, None] + np.array([f"/{label}" for label in description.labels], object)
    return label_roles(about, part, -share.to_numpy()[:, None] * favourable)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def parse_rank(text: str, options: Options) -> Answer:
    """:func:`parse_number` of a place in a ranking, as "3", "#3" or "3rd", or, where there is no digit, "third"."""
    text = re.sub(r"#(?=\d)|(?<=\d)(?:st|nd|rd|th)\b", "", text, flags=re.I)
    if not re.search(r"\d", text):
        names = rf"\b(?:{'|'.join(_ORDINALS)})\b"
        text = re.sub(names, lambda word: str(_ORDINALS.index(word[0].lower()) + 1), text, flags=re.I)
    return parse_number(text, options)


def open_rank(text: str, options: Options) -> None:
    """No beginning decides: "1" may become "10", "1st" or "1. Anna"."""


PARSERS: dict[str, Parser] = {"rank": Parser(parse_rank, open_rank), **BY_BEGINNING}


#: Formats of a user's own predictions.
FORMATS = {"decisions": partial(read_replies, parsers=COMMON_PARSERS | PARSERS)}
