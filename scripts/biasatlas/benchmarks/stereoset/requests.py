"""Three likelihoods for each item, or a choice between its three sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.choices import sentence_choices
from biasatlas.benchmarks.stereoset.spec import COMPARED, LABELS, PROMPTED_TASKS, SENTENCES, StereoSetOptions


def build_requests(step: Step[StereoSetOptions]) -> pd.DataFrame:
    """Requests of one task. Likelihood tasks: a row per sentence, with its ``label`` and upstream ``sentence_id``.

    Intrasentence sentences are scored whole, intersentence ones after their context and a space. Prompted tasks: a row
    per item and order of its options (:func:`biasatlas.benchmarks.shared.choices.sentence_choices`).

    Under ``swaps: asked`` the task "intrasentence" has rows more, without a ``sentence_id``: the stereotype and the
    anti-stereotype with other targets (:func:`.swaps.swaps`), ``label`` has the sentence and the target's place.
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


#: Where targets, their articles and plurals are, below ``resources/``.
TARGETS = "stereoset/targets.yaml"
#: Other targets that each item's sentences are asked with.
OTHERS = 2


class Swap(NamedTuple):
    """An item's sentences of :data:`COMPARED`, by label, with the target ``other`` for its own; ``place`` from 0."""

    item_id: str
    place: int
    other: str
    sentences: Mapping[str, str]


def swaps(items: pd.DataFrame, targets: Mapping[str, Any], most: int | None = OTHERS) -> Iterator[Swap]:
    """Those of each intrasentence item with at ``most`` so many (None: all) other targets of its domain and form.

    Which they are is drawn from the item's id. None of an item whose target is not in ``targets`` (:data:`TARGETS`),
    alone of its form, or not to be found as a word in either sentence.
    """
    there = items[items["task"] == "intrasentence"]
    known: dict[tuple[str, str], list[str]] = {}
    for domain, forms in targets["forms"].items():
        mine = set(there.loc[there["category"] == domain, "target"])
        for names in forms.values():
            for name in names:
                known[domain, name] = [other for other in names if other in mine and other != name]
    for item in there.to_dict("records"):
        name, own = item["item_id"], item["target"]
        others = sorted(known.get((item["category"], own), []), key=lambda other: crc32(f"{name}/{other}".encode()))
        for place, other in enumerate(others[:most]):
            texts = {label: swapped(item[label], own, other, targets) for label in COMPARED}
            if all(texts[label] != item[label] for label in COMPARED):
                yield Swap(name, place, other, texts)


def swapped(text: str, own: str, other: str, targets: Mapping[str, Any]) -> str:
    """``text`` with ``other`` for the target ``own``, as a word or its plural, in like letters, the article fitting.

    The text itself where it has none.
    """
    plurals: Mapping[str, str] = targets["plurals"]
    names = {name: plurals.get(name, f"{name}s") for name in (own, other)}
    forms = "|".join(re.escape(form) for form in sorted({names[own], own}, key=len, reverse=True))
    word = re.compile(rf"(?:\b(?P<article>an?) )?(?<!\w)(?P<target>{forms})(?!\w)", re.IGNORECASE)

    def put(found: re.Match[str]) -> str:
        target = found["target"]
        new = names[other] if target.lower() == names[own].lower() != own.lower() else other
        new = new.lower() if target.islower() else new[0].upper() + new[1:] if target[0].isupper() else new
        return f"{_article(found['article'], other, targets['an'])}{new}"

    return word.sub(put, text)


def _article(old: str | None, other: str, an: Sequence[str]) -> str:
    """The article before ``other``, in place of the ``old`` one: with a space, or '' where there was none."""
    if old is None:
        return ""
    new = "an" if other in an else "a"
    return f"{new.capitalize() if old[0].isupper() else new} "
