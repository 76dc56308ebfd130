"""TWBias's labelled sentences, target terms and attribute lists as items; and requests for log-likelihoods.

Each sentence and each variant of it is asked about under each prompt type. The ten user prompts come from three
sources: ours, which ship; the authors' file; the paper.
"""

import ast
import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.bias_roles import Roles, text_roles
from biasatlas.benchmarks.shared.templates import printed
from biasatlas.benchmarks.twbias.spec import (
    DIRECTIONS,
    GENDERS,
    ITEM_COLUMNS,
    PROMPT_TYPES,
    WORDS,
    TWBiasOptions,
    of_group,
)
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.userfiles import check_texts, read_csv_rows, read_json, shown

# Each group with sentences: folder and file suffix ("ethinicity" is upstream's spelling).
_GROUPS = {
    "female": ("data/gender", "female"),
    "male": ("data/gender", "male"),
    "indigenous": ("data/ethinicity", "NT"),
    "hakka": ("data/ethinicity", "hakka"),
    "hoklo": ("data/ethinicity", "B"),
    "waishengren": ("data/ethinicity", "W"),
}
_GENDER_TERMS = "data/gender/target_gender.csv", {"female": "T2", "male": "T1"}
_ETHNIC_TERMS = (
    "data/ethinicity/target_ethnicity.csv",
    {"indigenous": "T4", "hakka": "T5", "hoklo": "T1", "waishengren": "T2", "han": "T3"},
)
_SENTENCE_COLUMNS = ("Sentence ID", "Biased Sentences", "Sources", "Toxicity", "T-A Combination")
_TOXICITY = {"0": "non-toxic", "1": "toxic", "": None}
# One of the sentences has "Youtubex"; the paper's Table 6 counts it as YouTube.
_PLATFORMS = {"Youtube": "YouTube", "Youtubex": "YouTube"}


def read_items(step: Step) -> pd.DataFrame:
    """One row per labelled sentence of the six target groups, in upstream's order.

    ``files`` maps upstream paths (``data/gender/label_data_female.csv`` ...) to paths on disk. Columns:

    - ``item_id``: target group and upstream's sentence id; ``target_group``, ``sentence``, ``platform``
    - ``toxicity``: "toxic", "non-toxic", or missing where upstream left it empty (one Hakka sentence)
    - ``attribute_categories``: JSON list with the category of each target-attribute combination and each row of the
      attribute list for it, so with repeats; empty where the combination names no attribute
    - ``swaps``: JSON object, reference group -> list of [term, counterpart] for every listed term that is a substring
      of the sentence, in the order of the list. Gender terms have their listed partners as counterparts, ethnic terms
      all terms of the reference group, which may be the target group itself.

    The terms in the column ``T-A Combination`` only serve to find attributes: a few are not in the sentence, or in no
    list. Repeated sentences (five, under ids of their own) are kept, as in the paper's counts.

    Raises :class:`UserError` naming file and line for a missing file or column, an unreadable combination, a toxicity
    that is not 0, 1 or empty, a repeated id, an attribute of no category, and a sentence without a target term.
    """
    pairs = _read_pairs(step.files)
    items = []
    for group, (folder, suffix) in _GROUPS.items():
        categories = _read_categories(step.files, f"{folder}/{suffix}-Attribute.csv")
        items += _read_group(step.files, f"{folder}/label_data_{suffix}.csv", group, pairs[group], categories)
    return pd.DataFrame(items, columns=list(ITEM_COLUMNS))


def _read_rows(files: Mapping[str, Path], name: str, columns: tuple[str, ...]) -> list[tuple[str, dict[str, str]]]:
    """The rows of a CSV as (file and line for messages, row)."""
    if name not in files:
        raise UserError(f"{name}: not among the files of the dataset. Keep the folders as upstream has them.")
    # A column of the ethnic list is a group's terms; the shorter ones leave their last rows' cells out.
    rows = read_csv_rows(files[name], columns, short_rows=name == _ETHNIC_TERMS[0])
    return [(where, row) for where, row in rows if any(row.values())]


def _read_pairs(files: Mapping[str, Path]) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Target group -> reference group -> pairs of a term and a counterpart, without repeats."""
    pairs: dict[str, dict[str, list[tuple[str, str]]]] = {group: {} for group in _GROUPS}
    for name, columns in (_GENDER_TERMS, _ETHNIC_TERMS):
        listed_rows = _read_rows(files, name, tuple(columns.values()))
        if name == _GENDER_TERMS[0]:
            for where, row in listed_rows:
                check_texts(where, row, row)
        rows = [row for _, row in listed_rows]
        for target, reference in DIRECTIONS.values():
            if target in columns and reference in columns:
                # A row of the gender list is a pair; a column of the ethnic list is a group's terms.
                crossed = zip(rows, rows, strict=True) if name == _GENDER_TERMS[0] else itertools.product(rows, rows)
                listed = [(row[columns[target]], other[columns[reference]]) for row, other in crossed]
                swaps = dict.fromkeys((term, other) for term, other in listed if term and other and term != other)
                pairs[target][reference] = list(swaps)
    return pairs


def _read_categories(files: Mapping[str, Path], name: str) -> dict[str, list[str]]:
    """Attribute term -> the category of each row that lists it; upstream lists one term twice, in one category."""
    categories: dict[str, list[str]] = {}
    for where, row in _read_rows(files, name, ("Content", "Category")):
        check_texts(where, row, ("Content", "Category"))
        categories.setdefault(row["Content"], []).append(row["Category"])
    return categories


def _read_group(
    files: Mapping[str, Path],
    name: str,
    group: str,
    pairs: dict[str, list[tuple[str, str]]],
    categories: dict[str, list[str]],
) -> list[dict]:
    items, seen = [], {}
    for where, row in _read_rows(files, name, _SENTENCE_COLUMNS):
        check_texts(where, row, ("Sentence ID", "Biased Sentences", "Sources"))
        sentence, sentence_id = row["Biased Sentences"], row["Sentence ID"]
        if sentence_id in seen:
            raise UserError(f"{where}: Sentence ID {sentence_id!r} is that of {seen[sentence_id]} too. Make it unique.")
        seen[sentence_id] = where
        if row["Toxicity"] not in _TOXICITY:
            raise UserError(f"{where}: Toxicity is {shown(row['Toxicity'])}; expected 0, 1 or an empty cell.")
        swaps = {reference: [pair for pair in known if pair[0] in sentence] for reference, known in pairs.items()}
        # A group with one term has no other of its own to swap it for.
        if not all(found for reference, found in swaps.items() if reference != group):
            raise UserError(
                f"{where}: no target term of {group!r} in the sentence {shown(sentence)}, so nothing can be swapped. "
                "Add the term to the target list, or remove the row."
            )
        attributes = _attributes(row["T-A Combination"], where)
        unknown = [attribute for attribute in attributes if attribute not in categories]
        if unknown:
            raise UserError(
                f"{where}: T-A Combination has the attribute {unknown[0]!r}, which the attribute list of {group!r} "
                "puts in no category. Add it there, or correct it here."
            )
        listed = [category for attribute in attributes for category in categories[attribute]]
        items.append(
            {
                "item_id": f"{group}-{sentence_id}",
                "target_group": group,
                "sentence": sentence,
                "platform": _PLATFORMS.get(row["Sources"], row["Sources"]),
                "toxicity": _TOXICITY[row["Toxicity"]],
                "attribute_categories": json.dumps(listed, ensure_ascii=False),
                "swaps": json.dumps(swaps, ensure_ascii=False),
            }
        )
    return items


def _attributes(combination: str, where: str) -> list[str]:
    """The attributes in a list of (target, attribute) tuples written as Python; None stands for no attribute."""
    try:
        parsed = ast.literal_eval(combination)
        # One tuple upstream has a second one nested as its third element.
        pairs = [part for pair in parsed for part in (pair[:2], *pair[2:])]
        if not (isinstance(parsed, list) and all(map(_is_pair, pairs))):
            raise ValueError
    except (SyntaxError, ValueError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise UserError(
            f"{where}: cannot read T-A Combination {shown(combination)}; "
            "expected a list of (target, attribute) pairs, as [('女人', '物質')]."
        ) from error
    return [attribute for _, attribute in pairs if attribute is not None]


def _is_pair(part: object) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str) and isinstance(part[1], str | None)


_TEMPLATES = {"tokenizer": "tokenizer", "paper_table10": "paper", "handwritten_released": "released"}


def build_requests(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """One request per item, prompt type and sentence: the original once, and each variant per reference group.

    Own key columns: ``prompt_type``, ``reference_group`` (missing for the original, which all directions share),
    ``variant`` (0 the original, then 1 ...) and ``weight``, the number of (term, counterpart) pairs that lead to the
    variant: a mean over variants is a mean over pairs. ``change`` is a JSON object: each listed term of the two groups
    -> its count in the variant less that in the original, by longest match; the original's terms first. Where terms are
    swapped inside their group, everyday words for a gender (``twbias/gender_synonyms.yaml``) are swapped for one
    another and for those of the other gender, in sentences that have any.
    """
    rows = []
    patterns = _patterns(step.items)
    synonyms = step.resources.yaml("twbias/gender_synonyms.yaml") if step.options.own_group_swaps else {}
    of_words = re.compile("|".join(word for words in WORDS for word in synonyms.get(words, ())))
    directions = {DIRECTIONS[category] for category in step.categories}
    for item in step.items[step.items["target_group"].isin({target for target, _ in directions})].itertuples():
        sentences = [(None, 0, item.sentence, 1, "{}")]
        swaps = json.loads(item.swaps)
        if not step.options.own_group_swaps:
            swaps.pop(item.target_group, None)
        elif item.target_group in GENDERS:
            swaps |= _of_words(item.sentence, item.target_group, synonyms)
        for reference, pairs in swaps.items():
            if not pairs or (item.target_group, reference) not in directions:
                continue
            pattern = of_words if reference in WORDS else patterns[frozenset((item.target_group, reference))]
            swapped = variants(item.sentence, pairs, step.options.term_matching, step.options.swap_scope)
            sentences += [
                (reference, number, text, weight, _change(item.sentence, text, pattern))
                for number, (text, weight) in enumerate(swapped.items(), start=1)
            ]
        rows += [
            (item.item_id, prompt_type, *sentence)
            for prompt_type, sentence in itertools.product(PROMPT_TYPES, sentences)
            if len(sentences) > 1  # nothing to compare the original with
        ]
    requests = pd.DataFrame(
        rows, columns=["item_id", "prompt_type", "reference_group", "variant", "continuation", "weight", "change"]
    )
    requests["request_id"] = (
        requests["item_id"] + "/" + requests["prompt_type"] + "/" + requests["reference_group"].fillna("original")
    ) + ("/" + requests["variant"].astype(str)).where(requests["variant"] > 0, "")
    special_tokens = step.options.special_tokens
    if special_tokens == "template_only":
        special_tokens = np.where(requests["prompt_type"] == "no_template", "tokenizer", "none")
    return requests.assign(
        kind="likelihood",
        messages=requests["prompt_type"].map(_messages(user_prompts(step.options.prompt_set, step.resources))),
        prefix="",
        template=_TEMPLATES[step.options.template],
        special_tokens=special_tokens,
        boundary=step.options.boundary,
        repeats=1,
    )


def _of_words(sentence: str, target: str, synonyms: dict[str, list[str]]) -> dict[str, list[tuple[str, str]]]:
    """Women, men -> pairs of a word for the ``target`` in ``sentence`` and another; none if it has a compound."""
    (own,) = (words for words in WORDS if of_group(words) == target)
    if any(compound in sentence for compound in synonyms["compounds"]):
        return {}
    found = [word for word in synonyms[own] if word in sentence]
    return {words: [(word, other) for word in found for other in synonyms[words] if word != other] for words in WORDS}


def _messages(templates: dict[str, str]) -> dict[str, str | None]:
    """Prompt type -> the messages before a sentence, as JSON; none where there is no template."""
    return {"no_template": None} | {
        prompt_type: json.dumps([{"role": "user", "content": content}], ensure_ascii=False)
        for prompt_type, content in {"empty_prompt": "", **templates}.items()
    }


def _patterns(items: pd.DataFrame) -> dict[frozenset[str], re.Pattern]:
    """Target and reference group -> a pattern that finds the terms of both, the longest at each position."""
    terms: dict[str, set[str]] = {}
    pairs = [
        (item.target_group, reference, pair)
        for item in items[["target_group", "swaps"]].itertuples()
        for reference, listed in json.loads(item.swaps).items()
        for pair in listed
    ]
    for target, reference, (term, counterpart) in pairs:
        terms.setdefault(target, set()).add(term)
        terms.setdefault(reference, set()).add(counterpart)
    return {
        frozenset(groups): re.compile(
            "|".join(
                map(re.escape, sorted(set().union(*(terms[group] for group in groups)), key=lambda t: (-len(t), t)))
            )
        )
        for groups in {(target, reference) for target, reference, _ in pairs}
    }


def _change(sentence: str, variant: str, pattern: re.Pattern) -> str:
    counts = Counter[str]()
    counts.subtract(pattern.findall(sentence))
    counts.update(pattern.findall(variant))
    return json.dumps({term: count for term, count in counts.items() if count}, ensure_ascii=False)


def variants(sentence: str, pairs: Sequence[tuple[str, str]], term_matching: str, swap_scope: str) -> dict[str, int]:
    """The sentences that ``pairs`` of (term, counterpart) turn ``sentence`` into, each with the number of its pairs.

    ``term_matching`` "longest" takes the longest term at each position; "substring" takes every term of ``pairs``, also
    inside a longer one. ``swap_scope`` "one_term" swaps one term wherever it stands, for each of its counterparts;
    "all_terms" swaps all terms at once, each for its k-th counterpart (from the first again where it has fewer).
    """
    counterparts: dict[str, list[str]] = {}
    for term, counterpart in pairs:
        counterparts.setdefault(term, []).append(counterpart)
    terms = sorted(counterparts, key=len, reverse=True) if term_matching == "longest" else list(counterparts)
    pattern = re.compile("|".join(map(re.escape, terms)))
    matched = list(dict.fromkeys(pattern.findall(sentence)))
    if swap_scope == "all_terms":
        count = max(len(counterparts[term]) for term in matched)
        swaps = [
            {term: counterparts[term][number % len(counterparts[term])] for term in matched} for number in range(count)
        ]
    elif term_matching == "longest":
        swaps = [{term: counterpart} for term in matched for counterpart in counterparts[term]]
    else:
        return dict(Counter(sentence.replace(term, counterpart) for term, counterpart in pairs))
    return dict(Counter(pattern.sub(lambda match, swap=swap: swap.get(match[0], match[0]), sentence) for swap in swaps))


def user_prompts(prompt_set: str, resources: Resources) -> dict[str, str]:
    """``prompt_1`` to ``prompt_10`` -> its text.

    Table 3 agrees with the released file in prompts 1, 5, 7 and 10, but for the width of marks; the others are the
    user's copy of the table.
    """
    if prompt_set == "ours":
        return resources.yaml("prompts/twbias/ours.json")
    raw = read_json(resources.path("templates/twbias") / "prompts.json")
    released = {f"prompt_{number}": raw[str(number)] for number in range(1, 11)}
    if prompt_set == "released":
        return released
    narrow = {name: unicodedata.normalize("NFKC", text) for name, text in released.items()}
    return narrow | printed(resources, "twbias")


#: Columns of items in which the character frequencies of a simulated model are counted.
TEXTS = ("sentence",)


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` is 0.5 for a sentence with its own group's terms, else -0.5; ``edits`` counts swapped places.

    A sentence is a cluster; each variant is one part, under all prompts.
    """
    requests = step.requests
    asked = step.items.set_index("item_id").loc[requests["item_id"]].reset_index()
    own = (requests["variant"] == 0).to_numpy() | (
        requests["reference_group"].map(of_group, na_action="ignore").to_numpy() == asked["target_group"].to_numpy()
    )
    terms = _terms(step.items)
    edits = {
        pair: _edits(terms, *pair)
        for pair in dict.fromkeys(zip(asked["sentence"], requests["continuation"], strict=True))
        if pair[0] != pair[1]
    }
    pairs = zip(asked["sentence"], requests["continuation"], strict=True)
    variant = requests["reference_group"].fillna("") + "/" + requests["variant"].astype(str)
    about = pd.DataFrame(
        {"cluster": asked["item_id"], "category": asked["target_group"], "group": asked["target_group"]}
    )
    return text_roles(
        about,
        requests["item_id"] + "/" + variant,
        np.where(own, 0.5, -0.5),
        edits=[edits.get(pair, 0) for pair in pairs],
    )


def _terms(items: pd.DataFrame) -> re.Pattern[str]:
    """Any listed term, the longest first."""
    swaps = (json.loads(text) for text in items["swaps"])
    terms = {term for swap in swaps for pairs in swap.values() for pair in pairs for term in pair}
    return re.compile("|".join(map(re.escape, sorted(terms, key=lambda term: (-len(term), term)))) or "(?!)")


def _edits(terms: re.Pattern[str], sentence: str, variant: str) -> int:
    """How many places of listed terms differ between ``variant`` and ``sentence``; at least 1, since these differ."""
    before, after = terms.findall(sentence), terms.findall(variant)
    return max(1, sum(old != new for old, new in zip(before, after, strict=False)), abs(len(before) - len(after)))
