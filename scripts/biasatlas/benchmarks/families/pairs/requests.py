"""Two likelihoods for each pair, or a choice between its texts."""

import json

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.pairs.spec import LABELS, SENTENCES, PairsDescription, PairsOptions
from biasatlas.benchmarks.shared.choices import sentence_choices


def build_requests(step: Step[PairsOptions]) -> pd.DataFrame:
    """Requests of one task.

    ``pair``: a row per text, with its ``label`` ("more", "less") and ``pair``, a JSON list of both texts, from which a
    masked model finds the tokens that they share; the text ``more`` comes first in it in pairs of the first direction.
    ``pair_choice``: a row per pair and order of its options
    (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).
    """
    description: PairsDescription = step.description
    items, options = step.items[step.items["category"].isin(step.categories)], step.options
    if options.text == "cleaned":
        items = items.assign(**{label: clean(items[label]) for label in SENTENCES})
    if step.task == "pair_choice":
        template = description.prompt_template(step.resources, LABELS)
        return sentence_choices(items, template, SENTENCES, LABELS, options.orders == "swapped", options)
    first, *_ = next(iter(description.directions.values()), description.sides)
    ahead = items["direction"] == first
    texts = items["more"].where(ahead, items["less"]), items["less"].where(ahead, items["more"])
    pair = [json.dumps(sentences) for sentences in zip(*texts, strict=True)]
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "request_id": items["item_id"] + "/" + label,
                    "item_id": items["item_id"],
                    "kind": "likelihood",
                    "prefix": "",
                    "continuation": items[label],
                    "special_tokens": "once",
                    "boundary": "offsets",
                    "repeats": 1,
                    "label": label,
                    "pair": pair,
                }
            )
            for label in SENTENCES
        ]
    ).sort_index(kind="stable", ignore_index=True)


def clean(text: pd.Series) -> pd.Series:
    """``text`` without line breaks, as pair 1293 of CrowS-Pairs has one before its final full stop."""
    return text.str.replace(r"\s*\n\s*(?=[.,;!?])", "", regex=True).str.replace(r"\s*\n\s*", " ", regex=True)
