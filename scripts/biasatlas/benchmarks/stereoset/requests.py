"""Three likelihoods for each item, or a choice between its three sentences."""

import json
from pathlib import Path
from zlib import crc32

import pandas as pd

from biasatlas.benchmarks.stereoset import LABELS, SENTENCES

PROMPTS = Path(__file__).parents[4] / "resources" / "prompts" / "stereoset"
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
    """Requests of one task. Likelihood tasks: a row per sentence, with its ``label`` and upstream ``sentence_id``.

    Intrasentence sentences are scored whole, intersentence ones after their context and a space. Prompted tasks: a row
    per item and order of its options; ``order`` is a JSON list with the gold label behind each letter.
    """
    if task.endswith("_choice"):
        return _choices(items[items["task"] == task.removesuffix("_choice")], protocol)
    items = items[items["task"] == task]
    follows = task == "intersentence"
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "request_id": items["item_id"] + "/" + label,
                    "item_id": items["item_id"],
                    "kind": "likelihood",
                    "prefix": items["context"] if follows else "",
                    "continuation": " " + items[label] if follows else items[label],
                    "special_tokens": "once",
                    "boundary": "offsets",
                    "label": label,
                    "sentence_id": items[f"{label}_id"],
                }
            )
            for label in SENTENCES
        ]
    ).sort_index(kind="stable", ignore_index=True)


def _choices(items: pd.DataFrame, protocol: dict) -> pd.DataFrame:
    rows = []
    chat = protocol["layout"] == "chat"
    for item in items.to_dict("records"):
        wording = (PROMPTS / f"{item['task']}.txt").read_text(encoding="utf-8").rstrip("\n")
        for turn, order in enumerate(_orders(item["item_id"], protocol["orders"])):
            options = dict(zip(LABELS, (item[label] for label in order), strict=True))
            prompt = wording.format(context=item["context"], **options)
            rows.append(
                {
                    "request_id": f"{item['item_id']}/{turn}",
                    "item_id": item["item_id"],
                    "kind": "choice",
                    "messages": json.dumps([{"role": "user", "content": prompt}]) if chat else None,
                    "prefix": None if chat else prompt,
                    "template": "tokenizer" if chat else None,
                    "special_tokens": "once",
                    "labels": json.dumps(LABELS),
                    "parser": "letter",
                    **{name: protocol[name] for name in _SAMPLING},
                    "order": json.dumps(order),
                }
            )
    return pd.DataFrame(rows)


def _orders(item_id: str, orders: str) -> list[list[str]]:
    """Rotations of the gold labels, starting (and turning) as the item's id says: no order is tied to a label."""
    code = crc32(item_id.encode())
    labels = list(SENTENCES) if code % 2 else list(SENTENCES)[::-1]
    start = code // 2 % 3
    rotations = [labels[turn:] + labels[:turn] for turn in (start, (start + 1) % 3, (start + 2) % 3)]
    return rotations if orders == "rotated" else rotations[:1]
