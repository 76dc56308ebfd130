"""Rows of any table as questions about two groups, to be told apart or not."""

import re

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.contexts.spec import CONDITIONS, LABELS, NO_DIFFERENCE, ContextsDescription
from biasatlas.benchmarks.families.rows import check, check_ids, named, read_rows, render, written

#: The options at a question's end. Some of the published ones begin with (1).
_OPTIONS = re.compile(r"\((?:a|1)\)\s*(.+?)\s*\((?:b|2)\)\s*(.+?)\s*\((?:c|3)\)\s*(.+?)\s*$", re.S)


def read_items(step: Step) -> pd.DataFrame:
    """A row per record of the data, in their order; see :func:`questions`."""
    return questions(step.description, read_rows(step.description, step.files, step.description.columns))


def questions(description: ContextsDescription, raw: pd.DataFrame) -> pd.DataFrame:
    """A row per row of ``raw``, the data as :func:`.rows.read_rows` has them.

    ``item_id``, ``category``, ``condition`` ("differ", "equal"), ``scenario`` (with its category, and with the
    condition where a scenario has questions of one alone), ``question``, its options ``A``, ``B`` and ``C``, and
    ``gold``, the label of the right one. Raises UserError naming file, line and value.
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
