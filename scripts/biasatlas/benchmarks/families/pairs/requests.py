"""Two likelihoods for each pair, or a choice between its texts."""

import json
from collections.abc import Sequence

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.pairs.ends import cleaned, differences
from biasatlas.benchmarks.families.pairs.spec import ENDS, LABELS, SENTENCES, PairsDescription, PairsOptions, shift_of
from biasatlas.benchmarks.shared.choices import sentence_choices


def build_requests(step: Step[PairsOptions]) -> pd.DataFrame:
    """Requests of one task.

    ``pair``: a row per text, with its ``label`` ("more", "less") and ``pair``, a JSON list of both texts, from which a
    masked model finds the tokens that they share; the text ``more`` comes first in it in pairs of the first direction.
    Under ``ends: asked`` two rows more (:data:`ENDS`) of each pair whose texts end in the same words: these, after what
    precedes them. ``pair_choice``: a row per pair and order of its options
    (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).
    """
    description: PairsDescription = step.description
    items, options = step.items[step.items["category"].isin(step.categories)], step.options
    items = cleaned(items, options.text)
    if step.task == "pair_choice":
        template = description.prompt_template(step.resources, LABELS)
        return sentence_choices(items, template, SENTENCES, LABELS, options.orders == "swapped", options)
    first, *_ = next(iter(description.directions.values()), description.sides)
    ahead = items["direction"] == first
    texts = items["more"].where(ahead, items["less"]), items["less"].where(ahead, items["more"])
    items = items.assign(pair=[json.dumps(sentences) for sentences in zip(*texts, strict=True)])
    asked = _likelihoods(items, SENTENCES, ["", ""], [items[label] for label in SENTENCES])
    if shift_of(description, options) != "balanced_shift":
        return asked
    found = differences(items)
    ending = found["words"] > 0
    ends, found = items[ending], found[ending]
    starts = [found[f"{label}_start"] for label in SENTENCES]
    return pd.concat([asked, _likelihoods(ends, ENDS, starts, [found["end"]] * 2)], ignore_index=True)


def _likelihoods(
    items: pd.DataFrame, labels: Sequence[str], prefixes: Sequence[pd.Series | str], texts: Sequence[pd.Series]
) -> pd.DataFrame:
    """A request for each of ``labels`` and item, item by item."""
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "request_id": items["item_id"] + "/" + label,
                    "item_id": items["item_id"],
                    "kind": "likelihood",
                    "prefix": prefix,
                    "continuation": text,
                    "special_tokens": "once",
                    "boundary": "offsets",
                    "repeats": 1,
                    "label": label,
                    "pair": items["pair"],
                }
            )
            for label, prefix, text in zip(labels, prefixes, texts, strict=True)
        ]
    ).sort_index(kind="stable", ignore_index=True)
