"""One choice between three options for each item."""

import json
import re
from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.bbq import LABELS

PROMPTS = Path(__file__).parents[4] / "resources" / "prompts" / "bbq"
_SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
    "frequency_penalty",
    "max_tokens",
    "repeats",
)


def build_requests(items: pd.DataFrame, task: str, protocol: dict) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. Options keep the published order, which the authors shuffled."""
    wording = (PROMPTS / f"{protocol['prompt']}.txt").read_text(encoding="utf-8").rstrip("\n")
    fields = {name: items[name] for name in ("context", "question", *LABELS)}
    if protocol["text"] == "cleaned":
        fields = {name: clean(text) for name, text in fields.items()}
    prompt = _fill(wording, fields)
    chat = protocol["layout"] == "chat"
    return pd.DataFrame(
        {
            "request_id": items["item_id"],
            "item_id": items["item_id"],
            "kind": "choice",
            "messages": [json.dumps([{"role": "user", "content": text}]) for text in prompt] if chat else None,
            "prefix": None if chat else prompt,
            "template": "tokenizer" if chat else None,
            "special_tokens": "once",
            "labels": json.dumps(LABELS),
            "parser": "letter",
            **{name: protocol[name] for name in _SAMPLING},
        }
    )


def clean(text: pd.Series) -> pd.Series:
    """``text`` without the stray braces and doubled or outer spaces that slipped from the authors' templates."""
    return text.str.replace(r"[{}]", "", regex=True).str.split().str.join(" ")


def _fill(wording: str, fields: dict[str, pd.Series]) -> pd.Series:
    # str.format would stumble over the braces in the published contexts.
    parts = re.split(r"\{(\w+)\}", wording)
    return reduce(add, (fields[part] if place % 2 else part for place, part in enumerate(parts)))
