"""Three likelihoods for each item, or a choice between its three sentences."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.choices import sentence_choices
from biasatlas.benchmarks.stereoset.spec import LABELS, PROMPTED_TASKS, SENTENCES, StereoSetOptions


def build_requests(step: Step[StereoSetOptions]) -> pd.DataFrame:
    """Requests of one task. Likelihood tasks: a row per sentence, with its ``label`` and upstream ``sentence_id``.

    Intrasentence sentences are scored whole, intersentence ones after their context and a space. Prompted tasks: a row
    per item and order of its options (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).
    """
    part, items = step.task.removesuffix("_choice"), step.items
    items = items[(items["task"] == part) & items["category"].isin(step.categories)]
    if step.task in PROMPTED_TASKS:
        template = step.resources.text(f"prompts/stereoset/{part}.txt")
        return sentence_choices(items, template, SENTENCES, LABELS, step.options.orders == "rotated", step.options)
    follows = step.task == "intersentence"
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
