"""One choice between three options for each item."""

import re
from collections.abc import Sequence
from functools import reduce
from operator import add

import pandas as pd

from biasatlas.benchmarks.families.questions.columns import LABELS
from biasatlas.benchmarks.families.questions.description import QuestionsDescription
from biasatlas.benchmarks.families.questions.options import QuestionsOptions
from biasatlas.benchmarks.shared.choices import choice_columns
from biasatlas.resources import Resources


def build_requests(
    description: QuestionsDescription,
    items: pd.DataFrame,
    task: str,
    categories: Sequence[str],
    options: QuestionsOptions,
    resources: Resources,
    orders: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's."""
    return question_requests(items[items["category"].isin(categories)], description.prompt.strip(), options)


def question_requests(items: pd.DataFrame, wording: str, options: QuestionsOptions) -> pd.DataFrame:
    """A row per item, asked in ``wording``; ``request_id`` is the item's. Options keep their order."""
    fields = {name: items[name] for name in ("context", "question", *LABELS)}
    if options.text == "cleaned":
        fields = {name: clean(text) for name, text in fields.items()}
    # Whole columns at once: 58,492 calls of str.format take longer.
    parts = re.split(r"\{(\w+)\}", wording)
    prompts = reduce(add, (fields[part] if position % 2 else part for position, part in enumerate(parts)))
    return pd.DataFrame(
        {
            "request_id": items["item_id"],
            "item_id": items["item_id"],
            **choice_columns(prompts, LABELS, zip(*(fields[label] for label in LABELS), strict=True), options),
        }
    )


def clean(text: pd.Series) -> pd.Series:
    """``text`` without the stray braces and doubled or outer spaces that slip from templates."""
    return text.str.replace(r"[{}]", "", regex=True).str.split().str.join(" ")
