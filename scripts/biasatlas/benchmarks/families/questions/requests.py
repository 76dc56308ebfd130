"""One choice between three options for each item."""

import re
from functools import reduce
from operator import add

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.spec import LABELS, PROMPT_FIELDS, QuestionsDescription, QuestionsOptions
from biasatlas.benchmarks.shared.choices import choice_columns
from biasatlas.benchmarks.shared.errata import corrected, shipped_errata


def build_requests(step: Step[QuestionsOptions]) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. Options keep their order.

    With ``text: cleaned`` the corrections that the description names are made, too.
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
