"""Rows of any table as pairs of texts; their likelihoods, or a choice between them, as requests."""

import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.description import ROW
from biasatlas.benchmarks.families.pairs.spec import ENDS, LABELS, SENTENCES, PairsDescription, PairsOptions, shift_of
from biasatlas.benchmarks.families.rows import check_ids, named, read_rows, written
from biasatlas.benchmarks.shared.bias_roles import Roles, sentence_roles, text_roles
from biasatlas.benchmarks.shared.prompting import sentence_choices
from biasatlas.errors import UserError
from biasatlas.userfiles import listed


def read_items(step: Step) -> pd.DataFrame:
    """A row per record of the data and template of ``texts``, template by template.

    ``more`` is the text of the side that is the stereotype, ``less`` the other's; ``direction`` is that side, or what
    the description's ``directions`` say. Where there are several templates, they have a column, and their names follow
    the record's own in ``item_id``. What pairs have in common is in the column that the description names, or
    ``cluster``. Raises UserError naming file, line and value.
    """
    description: PairsDescription = step.description
    raw = read_rows(description, step.files, description.columns)
    category = named(raw, description.category, description.category_names)
    side = _side(description, raw, category)
    direction = side
    for column, values in description.directions.items():
        direction = named(raw, column, {value: value for value in values})
    first, second = description.sides
    name = written(description.item, raw)
    parts = []
    for template, texts in description.texts.items():
        sides = {side: written(texts[side], raw) for side in description.sides}
        is_first = side == first
        parts.append(
            pd.DataFrame(
                {
                    "item_id": name + f"/{template}" if description.template else name,
                    "category": category,
                    "direction": direction,
                    **dict.fromkeys(description.template, template),
                    description.cluster_name: written(description.cluster_text or f"{{{ROW}}}", raw),
                    "more": np.where(is_first, sides[first], sides[second]),
                    "less": np.where(is_first, sides[second], sides[first]),
                }
            )
        )
    items = pd.concat(parts, ignore_index=True)
    check_ids(raw, items)
    alike = items.loc[items["more"] == items["less"], "item_id"]
    if len(alike):
        raise UserError(
            f"{description.title}: both texts of {listed(alike)} are the same. Correct `texts`, or the data."
        )
    return items


def _side(description: PairsDescription, raw: pd.DataFrame, category: pd.Series) -> pd.Series:
    """The side of each row that is the stereotype."""
    rule = description.stereotype
    if isinstance(rule, dict):
        side = {name: side for side, categories in rule.items() for name in categories}
        return category.map(side)
    if rule in description.sides:
        return pd.Series(rule, raw.index)
    return named(raw, rule, {side: side for side in description.sides})


#: Stands for a text's own words if it has none, as where the other text has one word more.
NO_WORDS = "(none)"


def build_requests(step: Step[PairsOptions]) -> pd.DataFrame:
    """Requests of one task.

    ``pair``: a row per text, with its ``label`` ("more", "less") and ``pair``, a JSON list of both texts, from which a
    masked model finds the tokens that they share; in pairs of the first direction it begins with the text ``more``.
    Under ``ends: asked`` there are two more rows (:data:`ENDS`) for each pair whose texts end in the same words: these
    words, after what precedes them. ``pair_choice``: a row per pair and order of its options
    (:func:`biasatlas.benchmarks.shared.prompting.sentence_choices`).
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


def cleaned(items: pd.DataFrame, text: str) -> pd.DataFrame:
    """``items`` with both texts as the option ``text`` says."""
    return items if text == "published" else items.assign(more=clean(items["more"]), less=clean(items["less"]))


def clean(text: pd.Series) -> pd.Series:
    """``text`` without line breaks, as pair 1293 of CrowS-Pairs has one before its final full stop."""
    return text.str.replace(r"\s*\n\s*(?=[.,;!?])", "", regex=True).str.replace(r"\s*\n\s*", " ", regex=True)


def differences(items: pd.DataFrame) -> pd.DataFrame:
    """How the texts ``more`` and ``less`` of each item differ, with the index of ``items``.

    ``end`` is what both end in after the last difference, from the white space before its first word, and ``words`` how
    many words it has: 0 where the last words differ, as in a language that is written without spaces. ``more_start``
    and ``less_start`` are what precedes it. ``more_words`` and ``less_words`` are the words that the other text lacks,
    in small letters (:data:`NO_WORDS` where there are none).
    """
    rows = [_difference(more, less) for more, less in zip(items["more"], items["less"], strict=True)]
    names = ["end", "words", "more_start", "less_start", "more_words", "less_words"]
    return pd.DataFrame(rows, index=items.index, columns=names)


def _difference(more: str, less: str) -> tuple[str, int, str, str, str, str]:
    alike = takewhile(lambda letters: letters[0] == letters[1], zip(reversed(more), reversed(less), strict=False))
    same = more[len(more) - sum(1 for _ in alike) :]
    spaces = [place for place, letter in enumerate(same) if letter.isspace()]
    end = same[spaces[0] :] if spaces else ""
    first, second = more.split(), less.split()
    edits = [edit for edit in SequenceMatcher(None, first, second, autojunk=False).get_opcodes() if edit[0] != "equal"]
    mine = " ".join(word for _, start, stop, _, _ in edits for word in first[start:stop])
    others = " ".join(word for _, _, _, start, stop in edits for word in second[start:stop])
    starts = more[: len(more) - len(end)], less[: len(less) - len(end)]
    return end, len(end.split()), *starts, mine.lower() or NO_WORDS, others.lower() or NO_WORDS


#: Columns of items whose words a model's word frequencies are counted in.
TEXTS = SENTENCES

_SIDE = {"more": 0.5, "less": -0.5}


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` by text; a cluster is what pairs have in common; the group is the direction of a pair."""
    asked = step.items.set_index("item_id").loc[step.requests["item_id"]].reset_index()
    cluster = asked[step.description.cluster_name]
    about = pd.DataFrame({"cluster": cluster, "category": asked["category"], "group": asked["direction"]})
    if step.task == "pair_choice":
        return sentence_roles(step.requests, about, _SIDE, dict.fromkeys(SENTENCES, 0.0))
    return text_roles(about, step.requests["request_id"], step.requests["label"].str.removesuffix("_end").map(_SIDE))
