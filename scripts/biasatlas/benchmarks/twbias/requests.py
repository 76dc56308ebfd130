"""TWBias's requests: the log-likelihood of each sentence and of each variant of it, under each prompt type.

The ten user prompts come in three prompt templates: ours, which ship; the authors' file's; those that the paper prints.
"""

import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.shared.templates import printed
from biasatlas.benchmarks.twbias.spec import DIRECTIONS, GENDERS, PROMPT_TYPES, WORDS, TWBiasOptions, of_group
from biasatlas.resources import Resources
from biasatlas.userfiles import read_json

_TEMPLATES = {"tokenizer": "tokenizer", "paper_table10": "paper", "handwritten_released": "released"}


def build_requests(step: Step[TWBiasOptions]) -> pd.DataFrame:
    """One request per item, prompt type and sentence: the original once, and each variant per reference group.

    Own key columns: ``prompt_type``, ``reference_group`` (missing for the original, which all directions share),
    ``variant`` (0 the original, then 1 ...) and ``weight``, the number of (term, counterpart) pairs that lead to the
    variant: a mean over variants is a mean over pairs. ``change`` is a JSON object: how many more times than the
    original a variant has each listed term of the two groups, by longest match; the original's terms first. Where terms
    are swapped inside their group, everyday words for a gender (``twbias/gender_synonyms.yaml``) are swapped for one
    another and for those of the other, in sentences that have any.
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
    """Women and men -> pairs of a word for the ``target`` gender in the ``sentence`` and another; no compounds."""
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
    """Target and reference group -> what finds the terms of both, the longest at each position."""
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
