"""Three likelihoods for each item, or a choice between its three sentences."""

from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.shared.choices import sentence_choices
from biasatlas.benchmarks.stereoset import LABELS, SENTENCES

_PROMPTS = Path(__file__).parents[4] / "resources/prompts/stereoset"


def build_requests(items: pd.DataFrame, task: str, categories: list[str], protocol: dict) -> pd.DataFrame:
    """Requests of one task. Likelihood tasks: a row per sentence, with its ``label`` and upstream ``sentence_id``.

    Intrasentence sentences are scored whole, intersentence ones after their context and a space. Prompted tasks: a row
    per item and order of its options (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).
    """
    part = task.removesuffix("_choice")
    items = items[(items["task"] == part) & items["category"].isin(categories)]
    if task.endswith("_choice"):
        wording = (_PROMPTS / f"{part}.txt").read_text(encoding="utf-8").rstrip("\n")
        return sentence_choices(items, wording, SENTENCES, LABELS, protocol["orders"] == "rotated", protocol)
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
                    "repeats": 1,
                    "label": label,
                    "sentence_id": items[f"{label}_id"],
                }
            )
            for label in SENTENCES
        ]
    ).sort_index(kind="stable", ignore_index=True)
