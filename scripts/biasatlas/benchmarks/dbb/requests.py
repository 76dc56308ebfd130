"""DBB's requests: a choice between two options for each question, or the likelihood of their variations.

Templates are filled with the descriptor in the context and pronouns in the options. Prompts are ours, which ship, or
those of the authors' files, which are read from the fetched data.
"""

import itertools
import json
import re
from functools import cache
from zlib import crc32

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.dbb import IDENTITIES, LABELS, NAMES, PLACEHOLDER, TABLE_10_NAMES
from biasatlas.benchmarks.dbb.spec import DBBOptions
from biasatlas.benchmarks.shared.bias_roles import Roles, evenly, label_roles, text_roles
from biasatlas.benchmarks.shared.prompting import sampling
from biasatlas.benchmarks.shared.templates import fill_slots
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.userfiles import read_text

#: The one line that each wrapper of the authors' code sends before a prompt (`src/llm_utils.py`); the paper prints
#: none. We fetch the authors' texts where we know the file's checksum. For this file we know none, and the line is in
#: common use.
_SYSTEM_PROMPT = "You are a useful assistant."
#: Value of the option ``prompt`` -> the released file that has the words.
_CHOICE = {"table11": "evaluate_probs", "released": "evaluate_probs", "short": "evaluate"}

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


def build_requests(step: Step[DBBOptions]) -> pd.DataFrame:
    """MCQ: one request per question and order of its options. SG: one per question, option and variation.

    names: those of MCQ whose description has a name, once for each name of Table 2.
    Items with a fault are left out; scoring reports them.
    """
    options, resources = step.options, step.resources
    items = step.items[faults(step.items, step.task, options) == ""]
    wanted = items["category"].isin(step.categories)
    if not wanted.any():
        return pd.DataFrame(columns=["request_id"])
    # Filled before other categories are left out: the authors' code carries texts from one question to the next.
    if step.task == "names":
        return _with_each_name(items, wanted & items["named"], options, resources)
    filled = fill(items, options)[wanted]
    if step.task == "MCQ":
        return _choices(filled, options, resources)
    return _likelihoods(items[wanted], filled, options, resources)


def _choices(filled: pd.DataFrame, options: DBBOptions, resources: Resources) -> pd.DataFrame:
    instruction = choice_prompt(options.prompt, resources)
    layout = resources.text(f"prompts/dbb/{options.layout}.txt")
    orders = (1, 2) if options.option_order == "counterbalanced" else (1,)
    item_ids, messages, shown = [], [], []
    for item_id, context, *texts in filled[["item_id", "context", "option_1", "option_2"]].itertuples(index=False):
        for order in orders:
            first, second = texts if order == 1 else reversed(texts)
            question = fill_slots(layout, {"context": context, "first": first, "second": second})
            item_ids.append(item_id)
            messages.append(_messages(f"{instruction}\n\n{question}", options))
            shown.append(json.dumps([first, second], ensure_ascii=False))
    order = np.tile(orders, len(filled))
    return pd.DataFrame(
        {
            "request_id": pd.Series(item_ids) + "/" + order.astype(str),
            "item_id": item_ids,
            "kind": "choice",
            "messages": messages,
            "prefix": "",
            "template": "tokenizer",
            "special_tokens": "once",
            "labels": json.dumps(LABELS),
            "options": shown,
            "parser": options.parser,
            **sampling(options),
            "order": order,
        }
    )


def _with_each_name(items: pd.DataFrame, wanted: pd.Series, options: DBBOptions, resources: Resources) -> pd.DataFrame:
    if items["filled_context"].notna().any():
        raise UserError(
            "DBB, task names: the authors' own questions have one name each. Leave `names` out of `tasks`, or take "
            "`data: full`."
        )
    parts = []
    for name in NAMES:
        asked = _choices(fill(items, options, name)[wanted], options, resources)
        parts.append(asked.assign(request_id=asked["request_id"] + f"/{name}", name=name))
    return pd.concat(parts, ignore_index=True)


def _likelihoods(items: pd.DataFrame, filled: pd.DataFrame, options: DBBOptions, resources: Resources) -> pd.DataFrame:
    prompt = story_prompt(options.sg_prompt, resources)
    if items["filled_samples"].notna().any():
        samples = [json.loads(rows) for rows in items["filled_samples"]]
        contexts = [[context for context, _, _ in rows] for rows in samples]
        variations = tuple([[row[number] for row in rows] for rows in samples] for number in (1, 2))
    else:
        variations = fill_variations(items, filled, options)
        contexts = [[context] * len(texts) for context, texts in zip(filled["context"], variations[0], strict=True)]
    sizes = np.array([[len(texts) for texts in column] for column in variations]).T  # item by option
    requests = sizes.sum(axis=1)  # of each item
    option = np.repeat(np.tile((1, 2), len(items)), sizes.ravel())
    variation = np.concatenate([np.arange(size) for size in sizes.ravel()])
    item_ids = items["item_id"].repeat(requests).reset_index(drop=True)
    apart = options.sg_special_tokens == "include"
    shown = itertools.chain.from_iterable(each * 2 for each in contexts)
    messages = {
        context: _messages(fill_slots(prompt, {"context": context}), options) for each in contexts for context in each
    }
    continuations = itertools.chain.from_iterable(itertools.chain.from_iterable(zip(*variations, strict=True)))
    return pd.DataFrame(
        {
            "request_id": item_ids + "/" + pd.Series(option.astype(str)) + "/" + variation.astype(str),
            "item_id": item_ids,
            "kind": "likelihood",
            # Categorical, since one and a half million rows have few different texts.
            "messages": pd.Categorical([messages[context] for context in shown]),
            "prefix": "",
            "continuation": pd.Categorical(list(continuations)),
            "template": "tokenizer",
            "special_tokens": "tokenizer" if apart else "once",
            "boundary": "separate" if apart else "offsets",
            "repeats": 1,
            "option": option,
            "variation": variation,
        }
    )


def _messages(prompt: str, options: DBBOptions) -> str:
    system = [{"role": "system", "content": _SYSTEM_PROMPT}] if options.system_prompt == "released" else []
    return json.dumps([*system, {"role": "user", "content": prompt}], ensure_ascii=False)


def faults(items: pd.DataFrame, task: str, options: DBBOptions) -> pd.Series:
    """Why an item is not asked under ``options``, empty where it is asked."""
    faults = items["fault"]
    if task == "SG":
        faults = faults.where(faults != "", items["fault_sg"])
    if options.descriptor_text == "file":
        faults = faults.where(faults != "", items["fault_descriptor"])
    return faults


def fill(items: pd.DataFrame, options: DBBOptions, name: str = "") -> pd.DataFrame:
    """``items`` with ``context``, ``option_1`` and ``option_2`` filled, and ``pronoun`` as the options use it.

    Questions that the data hold as the authors filled them stay as they are, whatever the options say. ``name``
    replaces every name that the options would choose. ``items`` may be any rows of
    :func:`~biasatlas.benchmarks.dbb.items.read_items` that have no fault. With ``placeholder: released``, an option
    without placeholder becomes that of the preceding template in ``items``.

    Raises :class:`UserError` where the file's descriptors are wanted and the dataset has no such file.
    """
    if items["filled_context"].notna().any():
        by_name = items["filled_name"].map(NAMES).fillna("person")
        own = {column: items[f"filled_{column}"] for column in ("context", "option_1", "option_2")}
        return items.assign(**own, pronoun=items["pronoun"].fillna(by_name))
    if options.descriptor_text == "file" and items["descriptor_file"].isna().any():
        raise UserError(
            "data/descriptors.json: not among the files of the dataset, and the protocol's `descriptor_text` is "
            "'file'. Fetch it, or set `descriptor_text: paper`."
        )
    names = [name] * len(items) if name else _names(items, options)
    pronouns = np.where(items["pronoun"].isna(), [NAMES.get(name) for name in names], items["pronoun"])
    if options.pronoun_rule == "shared":
        pronouns = np.where(items["category"] == "Gender", "person", pronouns)
    descriptors = items[f"descriptor_{options.descriptor_text}"]
    contexts = [
        fill_context(context, descriptor.replace("{name}", name), pronoun, options.descriptor_text)
        for context, descriptor, name, pronoun in zip(items["context"], descriptors, names, pronouns, strict=True)
    ]
    filled = {
        column: [
            fill_option(template, pronoun, options.pronoun_case, options.placeholder)
            for template, pronoun in _templates_and_pronouns(items, column, pronouns, options.placeholder)
        ]
        for column in ("option_1", "option_2")
    }
    return items.assign(context=contexts, **filled, pronoun=pronouns)


def _names(items: pd.DataFrame, options: DBBOptions) -> list[str]:
    """The name of each item; that of an item without one is not used."""
    if options.name_rule == "fixed":
        return [TABLE_10_NAMES.get(category, "") for category in items["category"]]
    return draw_names(items["template_id"], items["type"], options.name_seed).tolist()


def draw_names(template_ids: pd.Series, types: pd.Series, seed: int) -> np.ndarray:
    """The name of each question by its template and type: one of Table 2, the same for all identities of a type."""
    templates = template_ids.str[1:].astype(int).to_numpy()
    columns = {type_: number for number, type_ in enumerate(IDENTITIES)}
    # Drawn for all types of all templates up to the last, so that a template's names do not depend on the others.
    size = templates.max() + 1, len(columns)
    drawn = np.random.default_rng(seed).integers(len(NAMES), size=size)
    return np.array(list(NAMES))[drawn[templates, types.map(columns)]]


def _templates_and_pronouns(
    items: pd.DataFrame, column: str, pronouns: np.ndarray, placeholder: str
) -> list[tuple[str, str]]:
    """(template, pronoun) of each item's option.

    In the authors' code an option without placeholder leaves a variable at its earlier value: for Gender's male
    identity that of the preceding template's last male question, else that of the preceding template's last question.
    """
    pairs = list(zip(items[column], pronouns, strict=True))
    if placeholder == "all":
        return pairs
    bare = ~items[column].str.contains(PLACEHOLDER, regex=False).to_numpy()
    templates, male = items["template_id"].to_numpy(), (items["identity"] == "Male").to_numpy()
    for position in np.flatnonzero(bare):
        earlier = ~bare & (templates < templates[position])
        if male[position] and (earlier & male).any():
            earlier &= male
        if earlier.any():
            pairs[position] = pairs[np.flatnonzero(earlier)[-1]]
    return pairs


@cache
def fill_option(template: str, pronoun: str, pronoun_case: str, placeholder: str) -> str:
    """An option with its placeholders replaced: ``pronoun`` is "she", "he" or "person" (the same words for anyone).

    ``pronoun_case`` and ``placeholder`` are the protocol's options. Without a placeholder it is returned as it is.
    """
    has_possessive = any(match[1] for match in _SLOT.finditer(template))
    subject, object_, possessive = _FORMS[pronoun]

    def form(match: re.Match) -> str:
        before, after = template[: match.start()], template[match.end() :]
        if has_possessive and not match[1] and placeholder == "released":
            return match[0]
        if match[1]:
            text = possessive
        elif pronoun_case == "grammatical" and not _SENTENCE_START.search(before) and _is_object(before, after):
            text = object_
        else:
            text = subject
        return text[0].upper() + text[1:] if pronoun_case == "released" or _SENTENCE_START.search(before) else text

    return _SLOT.sub(form, template)


def _is_object(before: str, after: str) -> bool:
    return bool(_BEFORE_OBJECT.search(before) or _AFTER_OBJECT.search(after))


def fill_context(template: str, descriptor: str, pronoun: str, descriptor_text: str) -> str:
    """The context about the person ``descriptor`` describes.

    "file" inserts the text verbatim. "paper" closes a descriptor's clause with a comma where the sentence goes on; a
    possessive after a clause, which English does not have, becomes a sentence of its own: "This is about ...". Further
    placeholders become pronouns.
    """
    if descriptor_text == "file":
        return template.replace(PLACEHOLDER, descriptor)
    slot = _SLOT.search(template)
    before, after = template[: slot.start()], template[slot.end() :]
    has_clause = "," in descriptor
    if slot[1] and has_clause:
        return f"This is about {descriptor}. " + fill_option(template, pronoun, "grammatical", "all")
    if slot[1]:
        descriptor += slot[1]
    elif has_clause and not re.match(r"[,.;:!?]", after):
        descriptor += ","
    return fill_option(before + descriptor + after, pronoun, "grammatical", "all")


def fill_variations(
    items: pd.DataFrame, filled: pd.DataFrame, options: DBBOptions
) -> tuple[list[list[str]], list[list[str]]]:
    """The filled variations of the first and of the second option of each item; ``filled`` is from :func:`fill`.

    ``sg_lookup`` "modulo_50" takes those of the template whose number is the item's row among its template's fifty.
    ``sg_pronoun`` "released" takes "He" where the original first option contains "He" (as in "Her") or the option
    itself "His", else "She"; possessives become "He's" and "She's".
    """
    originals = list(zip(filled["option_1"], filled["option_2"], strict=True))
    texts = []
    for index, templates in enumerate(_variation_templates(items, options.sg_lookup)):
        pronouns = filled["pronoun"]
        if options.sg_pronoun == "released":
            pronouns = ["He" if "He" in pair[0] or "His" in pair[index] else "She" for pair in originals]
        pairs = zip(templates, pronouns, strict=True)
        texts.append([[_varied(text, pronoun, options) for text in variations] for variations, pronoun in pairs])
    first, second = texts
    return first, second


def _varied(template: str, pronoun: str, options: DBBOptions) -> str:
    if options.sg_pronoun == "released":
        return template.replace(PLACEHOLDER, pronoun)
    return fill_option(template, pronoun, options.pronoun_case, "all")


def _variation_templates(items: pd.DataFrame, sg_lookup: str) -> list[list[tuple[str, ...]]]:
    """The unfilled variations of the first and of the second option of each item."""
    columns = [[tuple(json.loads(text)) for text in items[column]] for column in ("variations_1", "variations_2")]
    if sg_lookup == "by_concept":
        return columns
    is_first = ~items["template_id"].duplicated()
    by_template = [
        [variations for variations, first in zip(column, is_first, strict=True) if first] for column in columns
    ]
    return [[variations[row % len(variations)] for row in items["row"]] for variations in by_template]


def choice_prompt(prompt: str, resources: Resources) -> str:
    """The instruction of MCQ. The paper's Table 11 has the words of a released file, in typographic quotation marks."""
    if prompt not in _CHOICE:
        return resources.text(f"prompts/dbb/{prompt}.txt")
    text = released(_CHOICE[prompt], resources)
    return typographic(text) if prompt == "table11" else text


def story_prompt(prompt: str, resources: Resources) -> str:
    """The instruction of SG with its slot ``{context}``: the paper prints none, the released file stops before it."""
    if prompt == "released":
        return released("evaluate_perplexity", resources) + "\n\nContext: {context}"
    return resources.text(f"prompts/dbb/story_{prompt}.txt")


def released(name: str, resources: Resources) -> str:
    """A prompt file of the authors', without the white space around it."""
    folder = resources.path("templates/dbb")
    return read_text(folder / "src" / "prompt_instructions" / f"{name}.txt").strip()


def typographic(text: str) -> str:
    """``text`` with straight quotation marks turned into typographic pairs; an apostrophe in a word is one half."""
    text = re.sub(r'"([^"]*)"', "“\\1”", text)
    return re.sub(r"(?<!\w)'(.*?)'(?!\w)", "‘\\1’", text)


#: Columns of items in which the word frequencies of a simulated model are counted.
TEXTS = ("context", "option_1", "option_2")

#: (type, identity) -> its place among the type's identities, from 0.5 for the first to -0.5 for the last.
_PLACE = {
    (type_, identity): evenly(place, len(identities))
    for type_, identities in IDENTITIES.items()
    for place, identity in enumerate(identities)
}


def bias_roles(step: Step) -> Roles:
    """``stereotype_sign`` of the first concept's option is half its identity's place times the template's sign (1, -1).

    The other option has minus that. So a bias is the log odds ratio of a template's options between the first and the
    last identity of a type, the same in all of its types. A template is a cluster.
    """
    items, requests = step.items, step.requests
    at = pd.Index(items["item_id"]).get_indexer(requests["item_id"])  # a table of all texts would be gigabytes
    sign = {template: 1.0 if crc32(template.encode()) % 2 else -1.0 for template in items["template_id"].unique()}
    place = np.array([_PLACE[key] for key in zip(items["type"], items["identity"], strict=True)])
    option_sign = (place * items["template_id"].map(sign).to_numpy() / 2)[at]
    belongs = {"cluster": items["template_id"], "category": items["category"], "group": items["identity"]}
    about = pd.DataFrame(belongs, dtype=object).iloc[at]
    if step.task == "SG":
        return text_roles(about, requests["request_id"], np.where(requests["option"] == 1, option_sign, -option_sign))
    first = (requests["order"] == 1).to_numpy()
    options = [(items["item_id"] + end).to_numpy(object)[at] for end in ("/1", "/2")]
    part = np.column_stack([np.where(first, *options), np.where(first, *options[::-1])])
    return label_roles(
        about,
        part,
        np.column_stack([np.where(first, option_sign, -option_sign), np.where(first, -option_sign, option_sign)]),
    )
