"""Two likelihoods for each pair, or a choice between its sentences."""

import json
from collections.abc import Sequence

import pandas as pd

from biasatlas.benchmarks.crows_pairs.options import CrowSPairsOptions
from biasatlas.benchmarks.crows_pairs.vocabulary import LABELS, SENTENCES
from biasatlas.benchmarks.shared.choices import sentence_choices
from biasatlas.resources import Resources


def build_requests(
    items: pd.DataFrame,
    task: str,
    categories: Sequence[str],
    options: CrowSPairsOptions,
    resources: Resources,
    orders: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Requests of one task.

    ``pair``: a row per sentence, with its ``label`` ("more", "less") and ``pair``, a JSON list of both sentences in
    the authors' order, from which a masked model finds the tokens that they share. ``pair_choice``: a row per pair and
    order of its options (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).
    """
    items = items[items["category"].isin(categories)]
    if options.text == "cleaned":
        items = items.assign(**{label: clean(items[label]) for label in SENTENCES})
    if task == "pair_choice":
        wording = resources.text("prompts/crows_pairs/pair.txt")
        return sentence_choices(items, wording, SENTENCES, LABELS, options.orders == "swapped", options)
    # The authors match a stereo pair from "more" to "less" and an antistereo pair the other way round.
    stereo = items["direction"] == "stereo"
    first, second = items["more"].where(stereo, items["less"]), items["less"].where(stereo, items["more"])
    pair = [json.dumps(sentences) for sentences in zip(first, second, strict=True)]
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
    """``text`` without line breaks; pair 1293 upstream has one before its final full stop."""
    return text.str.replace(r"\s*\n\s*(?=[.,;!?])", "", regex=True).str.replace(r"\s*\n\s*", " ", regex=True)
