"""One choice between three options for each item."""

import re
from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.bbq import LABELS
from biasatlas.benchmarks.shared.choices import choice_columns

_PROMPTS = Path(__file__).parents[4] / "resources/prompts/bbq"


def build_requests(items: pd.DataFrame, task: str, categories: list[str], protocol: dict) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. Options keep the published order, which the authors shuffled."""
    items = items[items["category"].isin(categories)]
    wording = (_PROMPTS / f"{protocol['prompt']}.txt").read_text(encoding="utf-8").rstrip("\n")
    fields = {name: items[name] for name in ("context", "question", *LABELS)}
    if protocol["text"] == "cleaned":
        fields = {name: clean(text) for name, text in fields.items()}
    prompts = _fill(wording, fields)
    return pd.DataFrame(
        {
            "request_id": items["item_id"],
            "item_id": items["item_id"],
            **choice_columns(prompts, LABELS, protocol),
        }
    )


def clean(text: pd.Series) -> pd.Series:
    """``text`` without the stray braces and doubled or outer spaces that slipped from the authors' templates."""
    return text.str.replace(r"[{}]", "", regex=True).str.split().str.join(" ")


def _fill(wording: str, fields: dict[str, pd.Series]) -> pd.Series:
    # Whole columns at once: 58,492 calls of str.format take longer.
    parts = re.split(r"\{(\w+)\}", wording)
    return reduce(add, (fields[part] if place % 2 else part for place, part in enumerate(parts)))
