"""Three likelihoods for each item, or a choice between its three sentences."""

from collections.abc import Sequence

import pandas as pd

from biasatlas.benchmarks.shared.choices import sentence_choices
from biasatlas.benchmarks.stereoset.options import StereoSetOptions
from biasatlas.benchmarks.stereoset.vocabulary import LABELS, PROMPTED_TASKS, SENTENCES
from biasatlas.resources import Resources


def build_requests(
    items: pd.DataFrame,
    task: str,
    categories: Sequence[str],
    options: StereoSetOptions,
    resources: Resources,
    orders: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Requests of one task. Likelihood tasks: a row per sentence, with its ``label`` and upstream ``sentence_id``.

    Intrasentence sentences are scored whole, intersentence ones after their context and a space. Prompted tasks: a row
    per item and order of its options (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).
    """
    part = task.removesuffix("_choice")
    items = items[(items["task"] == part) & items["category"].isin(categories)]
    if task in PROMPTED_TASKS:
        wording = resources.text(f"prompts/stereoset/{part}.txt")
        return sentence_choices(items, wording, SENTENCES, LABELS, options.orders == "rotated", options)
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
