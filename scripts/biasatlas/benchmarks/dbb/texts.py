"""Fill DBB's templates: the descriptor into the context, pronouns into the options."""

import json
import re
from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from biasatlas.benchmarks.dbb import TYPES
from biasatlas.benchmarks.dbb.items import PLACEHOLDER
from biasatlas.errors import UserError

#: The twelve names of the paper's Table 2 with the subject pronouns of the released file, four to a group (female, male,
#: neutral); to draw a group and then a name of it is to draw one of the twelve.
NAMES = (
    dict.fromkeys(("Jessica", "Aisha", "Sofia", "Amara"), "she")
    | dict.fromkeys(("Donald", "Kai", "James", "Amari"), "he")
    | {"Zhang": "he", "Taylor": "she", "Lee": "he", "Smith": "she"}
)
_FIXED = {"Age": "Jessica", "SES": "James", "Religions": "Kai"}

#: Subject, object and possessive form.
_FORMS = {
    "she": ("she", "her", "her"),
    "he": ("he", "him", "his"),
    "person": ("the person", "the person", "the person's"),
}
_SLOT = re.compile(re.escape(PLACEHOLDER) + "(['’]s)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?][\"'”’]*)\s*[\"'“‘]?$")
#: What marks an object: a preposition or participle before it; an end, a preposition or a bare infinitive after it.
_BEFORE_OBJECT = re.compile(r"\b(?:\w+ing|to|at|for|with|of|from|on|by|around|behind|beside|near|toward|towards)\s+$")
_AFTER_OBJECT = re.compile(r"^(?:\s*$|[,.;:!?]|\s+(?:to|as|with|at|for|from|in|on|into|feel|stand)\b)")


def faults(items: pd.DataFrame, task: str, protocol: dict) -> pd.Series:
    """Why an item is not asked under ``protocol``, empty where it is."""
    found = items["fault"]
    if task == "SG":
        found = found.where(found != "", items["fault_sg"])
    if protocol["descriptor_text"] == "file":
        found = found.where(found != "", items["fault_descriptor"])
    return found


def fill(items: pd.DataFrame, protocol: dict) -> pd.DataFrame:
    """``items`` with ``context``, ``option_1`` and ``option_2`` filled, and ``pronoun`` as the options use it.

    ``items`` may be any rows of :func:`~biasatlas.benchmarks.dbb.items.read_items` that have no fault. Where a released
    option without placeholder takes the preceding concept's text, the preceding one of ``items`` is meant.
    """
    if protocol["descriptor_text"] == "file" and items["descriptor_file"].isna().any():
        raise UserError(
            "data/descriptors.json: not among the files of the dataset, and the protocol's `descriptor_text` is 'file'. "
            "Fetch it, or set `descriptor_text: paper`."
        )
    names = _names(items, protocol)
    pronouns = np.where(items["pronoun"].isna(), [NAMES.get(name) for name in names], items["pronoun"])
    if protocol["pronoun_rule"] == "shared":
        pronouns = np.where(items["category"] == "Gender", "person", pronouns)
    options = {
        column: [
            fill_option(*filled, protocol["pronoun_case"], protocol["placeholder"])
            for filled in _option_slots(items, column, pronouns, protocol["placeholder"])
        ]
        for column in ("option_1", "option_2")
    }
    descriptors = items[f"descriptor_{protocol['descriptor_text']}"]
    contexts = [
        fill_context(context, descriptor.replace("{name}", name), pronoun, protocol["descriptor_text"])
        for context, descriptor, name, pronoun in zip(items["context"], descriptors, names, pronouns, strict=True)
    ]
    return items.assign(context=contexts, **options, pronoun=pronouns)


def _names(items: pd.DataFrame, protocol: dict) -> list[str]:
    """The name of each item; that of an item without one is not used."""
    if protocol["name_rule"] == "fixed":
        return [_FIXED.get(category, "") for category in items["category"]]
    templates = items["template_id"].str[1:].astype(int).to_numpy()
    kinds = {kind: number for number, kind in enumerate(kind for types in TYPES.values() for kind in types)}
    # Drawn for all types of all templates up to the last, so that a template's names do not depend on the others.
    size = templates.max() + 1, len(kinds)
    drawn = np.random.default_rng(protocol["name_seed"]).integers(len(NAMES), size=size)
    return np.array(list(NAMES))[drawn[templates, items["type"].map(kinds)]].tolist()


def _option_slots(
    items: pd.DataFrame, column: str, pronouns: np.ndarray, placeholder: str
) -> Iterable[tuple[str, str]]:
    """(template, pronoun) of each item's option.

    In the authors' code an option without placeholder leaves a variable as it was: the male one of Gender at the
    preceding concept's last Gender question, the other one at its last question.
    """
    pairs = list(zip(items[column], pronouns, strict=True))
    if placeholder == "all":
        return pairs
    bare = ~items[column].str.contains(PLACEHOLDER, regex=False).to_numpy()
    templates, male = items["template_id"].to_numpy(), (items["identity"] == "Male").to_numpy()
    for place in np.flatnonzero(bare):
        before = ~bare & (templates < templates[place])
        if male[place] and (before & male).any():
            before &= male
        if before.any():
            pairs[place] = pairs[np.flatnonzero(before)[-1]]
    return pairs


@cache
def fill_option(template: str, pronoun: str, pronoun_case: str, placeholder: str) -> str:
    """An option with its placeholders replaced: ``pronoun`` is "she", "he" or "person" (the same words for anyone).

    ``pronoun_case`` and ``placeholder`` are the protocol's options. Without a placeholder it is returned as it is.
    """
    possessives = any(match[1] for match in _SLOT.finditer(template))
    subject, other, possessive = _FORMS[pronoun]

    def form(match: re.Match) -> str:
        before, after = template[: match.start()], template[match.end() :]
        if possessives and not match[1] and placeholder == "released":
            return match[0]
        if match[1]:
            text = possessive
        elif pronoun_case == "grammatical" and not _SENTENCE_START.search(before) and _is_object(before, after):
            text = other
        else:
            text = subject
        return text[0].upper() + text[1:] if pronoun_case == "released" or _SENTENCE_START.search(before) else text

    return _SLOT.sub(form, template)


def _is_object(before: str, after: str) -> bool:
    return bool(_BEFORE_OBJECT.search(before) or _AFTER_OBJECT.search(after))


def fill_context(template: str, descriptor: str, pronoun: str, descriptor_text: str) -> str:
    """The context about the person ``descriptor`` describes.

    "file" puts the text in as it is. "paper" closes a descriptor's clause with a comma where the sentence goes on; a
    possessive after a clause, which English does not have, becomes a sentence of its own: "This is about ...". Further
    placeholders become pronouns.
    """
    if descriptor_text == "file":
        return template.replace(PLACEHOLDER, descriptor)
    slot = _SLOT.search(template)
    before, after = template[: slot.start()], template[slot.end() :]
    clause = "," in descriptor
    if slot[1] and clause:
        return f"This is about {descriptor}. " + fill_option(template, pronoun, "grammatical", "all")
    if slot[1]:
        descriptor += slot[1]
    elif clause and not re.match(r"[,.;:!?]", after):
        descriptor += ","
    return fill_option(before + descriptor + after, pronoun, "grammatical", "all")


def fill_variations(items: pd.DataFrame, filled: pd.DataFrame, protocol: dict) -> tuple[list[list[str]], ...]:
    """The variations of the first and of the second option of each item, ``filled`` as :func:`fill` gives them.

    ``sg_lookup`` "modulo_50" takes those of the concept whose number is the item's row among its concept's fifty.
    ``sg_pronoun`` "released" looks for "He" or "His" in the original options, which "Her" contains too; for the second
    option it looks for "He" in the first one; and the plain replacement undoes the possessive one.
    """
    columns = ("variations_1", "variations_2")
    lists = [[tuple(json.loads(text)) for text in items[column]] for column in columns]
    if protocol["sg_lookup"] == "modulo_50":
        first = items.drop_duplicates("template_id").index
        concepts = [
            [own for own, used in zip(column, items.index.isin(first), strict=True) if used] for column in lists
        ]
        lists = [[own[row % len(own)] for row in items["row"]] for own in concepts]
    originals = list(zip(filled["option_1"], filled["option_2"], strict=True))
    result = []
    for place, column in enumerate(lists):
        if protocol["sg_pronoun"] == "released":
            pronouns = ["He" if "He" in pair[0] or "His" in pair[place] else "She" for pair in originals]
            texts = [[text.replace(PLACEHOLDER, he) for text in own] for own, he in zip(column, pronouns, strict=True)]
        else:
            texts = [
                [fill_option(text, pronoun, protocol["pronoun_case"], "all") for text in own]
                for own, pronoun in zip(column, filled["pronoun"], strict=True)
            ]
        result.append(texts)
    return tuple(result)
