"""One choice between three options for each item."""

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

import pandas as pd

from biasatlas.benchmarks.bbq.options import BBQOptions
from biasatlas.benchmarks.bbq.vocabulary import LABELS
from biasatlas.benchmarks.shared.choices import choice_columns
from biasatlas.resources import Resources


def build_requests(
    items: pd.DataFrame,
    task: str,
    categories: Sequence[str],
    options: BBQOptions,
    resources: Resources,
    orders: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. Options keep the published order, which the authors shuffled."""
    items = items[items["category"].isin(categories)]
    fields = {name: items[name] for name in ("context", "question", *LABELS)}
    if options.text == "cleaned":
        fields = {name: clean(text) for name, text in fields.items()}
    prompts = _fill(resources.text(f"prompts/bbq/{options.prompt}.txt"), fields)
    return pd.DataFrame(
        {
            "request_id": items["item_id"],
            "item_id": items["item_id"],
            **choice_columns(prompts, LABELS, options),
        }
    )


def clean(text: pd.Series) -> pd.Series:
    """``text`` without the stray braces and doubled or outer spaces that slipped from the authors' templates."""
    return text.str.replace(r"[{}]", "", regex=True).str.split().str.join(" ")


def _fill(wording: str, fields: Mapping[str, pd.Series]) -> pd.Series:
    # Whole columns at once: 58,492 calls of str.format take longer.
    parts = re.split(r"\{(\w+)\}", wording)
    return reduce(add, (fields[part] if position % 2 else part for position, part in enumerate(parts)))
