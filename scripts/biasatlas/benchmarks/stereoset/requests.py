"""Three likelihoods for each item, or a choice between its three sentences."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.choices import sentence_choices
from biasatlas.benchmarks.stereoset.spec import LABELS, PROMPTED_TASKS, SENTENCES, StereoSetOptions
from biasatlas.benchmarks.stereoset.swaps import TARGETS, swaps


def build_requests(step: Step[StereoSetOptions]) -> pd.DataFrame:
    """Requests of one task. Likelihood tasks: a row per sentence, with its ``label`` and upstream ``sentence_id``.

    Intrasentence sentences are scored whole, intersentence ones after their context and a space. Prompted tasks: a row
    per item and order of its options (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).

    Under ``swaps: asked`` the task "intrasentence" has rows more, without a ``sentence_id``: the stereotype and the anti-stereotype
    with other targets (:func:`.swaps.swaps`), whose ``label`` is the sentence's and the other target's place.
    """
    part, items = step.task.removesuffix("_choice"), step.items
    items = items[(items["task"] == part) & items["category"].isin(step.categories)]
    if step.task in PROMPTED_TASKS:
        template = step.resources.text(f"prompts/stereoset/{part}.txt")
        return sentence_choices(items, template, SENTENCES, LABELS, step.options.orders == "rotated", step.options)
    follows = step.task == "intersentence"
    asked = pd.concat(
        [
            pd.DataFrame(
                {
                    "item_id": items["item_id"],
                    "prefix": items["context"] if follows else "",
                    "continuation": " " + items[label] if follows else items[label],
                    "label": label,
                    "sentence_id": items[f"{label}_id"],
                }
            )
            for label in SENTENCES
        ]
    ).sort_index(kind="stable", ignore_index=True)
    if step.options.swaps == "asked" and not follows:
        wanted, targets = set(items["item_id"]), step.resources.yaml(TARGETS)
        rows = [
            (swap.item_id, "", text, f"{label}/{swap.place}", "")
            for swap in swaps(step.items, targets)
            if swap.item_id in wanted
            for label, text in swap.sentences.items()
        ]
        asked = pd.concat([asked, pd.DataFrame(rows, columns=list(asked))], ignore_index=True)
    return pd.DataFrame(
        {
            "request_id": asked["item_id"] + "/" + asked["label"],
            "item_id": asked["item_id"],
            "kind": "likelihood",
            "prefix": asked["prefix"],
            "continuation": asked["continuation"],
            "special_tokens": "once",
            "boundary": "offsets",
            "repeats": 1,
            "label": asked["label"],
            "sentence_id": asked["sentence_id"],
        }
    )
