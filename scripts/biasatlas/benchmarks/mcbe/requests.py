"""What each of McBE's five tasks asks about an instance: its prompts, its sentences, its requests, their roles.

Prompts come from three sources: ours, which ship; the authors' code; the paper.
"""

import hashlib
import itertools
import json
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mcbe import PLACEHOLDER, SEVERITIES, is_faulty, other_names, subcategories
from biasatlas.benchmarks.mcbe.spec import McBEOptions
from biasatlas.benchmarks.shared.bias_roles import Roles, evenly, label_roles, text_roles
from biasatlas.benchmarks.shared.templates import fill_slots, formatted_strings, plain, printed, template, with_slots
from biasatlas.resources import Resources

_SPECIAL_TOKENS = {"force": "once", "tokenizer_default": "tokenizer", "none": "none"}
#: Values of the options ``sc_match``, ``ss_parse`` and ``bs_parse`` -> parser: one that all benchmarks share, or the
#: authors'.
PARSER_OF = {
    **{name: name for name in ("label", "letter", "decimal")},
    **{name: f"mcbe_{name}" for name in ("substring", "first_five_characters", "first_number")},
}
_UNTEMPERED = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0, "frequency_penalty": 0.0}
#: Slots of the prompts in the authors' `eval.py`, in their order.
_SLOTS = {
    "sc": ("classification", ("sentence", "labels")),
    "ss": ("scenario_selection", ("first", "second")),
    "ba": ("bias_analysis", ("word", "sentence")),
    "bs": ("bias_scoring", ("sentence",)),
}


def build_requests(step: Step[McBEOptions]) -> pd.DataFrame:
    """The requests of one task for the items of the categories; an instance with nothing to compare (PC, SS) has none.

    PC has a request per word; SS one per ordered pair of words; SC and BS one per prompt set; BA one. The step's
    ``orders`` are a judge's responses to :func:`biasatlas.benchmarks.mcbe.judge.build_order_requests`, needed where
    ``sc_text`` is judge_ordered_context.
    """
    options, resources = step.options, step.resources
    items = step.items[step.items["category"].isin(step.categories) & ~is_faulty(step.items, step.task)]
    if step.task == "PC":
        return _pc(items, options)
    texts = prompts(options.templates, resources)
    if step.task == "SC":
        names = subcategories(resources), other_names(resources)
        rows = _sc(items, options, texts, *names, _context_last(options, step.orders))
    elif step.task == "SS":
        rows = _ss(items, options, texts["ss"])
    elif step.task == "BA":
        rows = _ba(items, texts["ba"])
    else:
        rows = _bs(items, options, texts)
    requests = pd.DataFrame(rows)
    if requests.empty:
        return requests
    analysis = step.task == "BA"
    return finish(
        requests,
        kind="generation" if analysis or options.answers == "sampled" else "choice",
        repeats=options.repeats,
        max_tokens=options.max_tokens_analysis if analysis else options.max_tokens_answer,
        generation=options.generation,
        system=options.system_prompt == "none",
    )


def finish(
    requests: pd.DataFrame, *, kind: str, repeats: int, max_tokens: int, generation: str, system: bool = False
) -> pd.DataFrame:
    """Add what a task's requests have in common; column ``prompt`` becomes the user's message.

    ``generation`` is one of the option's values; ``system`` puts an empty system message first.
    """
    first = [{"role": "system", "content": ""}] if system else []
    messages = [
        json.dumps([*first, {"role": "user", "content": prompt}], ensure_ascii=False) for prompt in requests["prompt"]
    ]
    settings = _UNTEMPERED if generation == "untempered" else dict.fromkeys(_UNTEMPERED)
    sampling = {"untempered": None, "table8": "table8", "checkpoint_config": "checkpoint"}[generation]
    return requests.drop(columns="prompt").assign(
        kind=kind,
        messages=messages,
        prefix="",
        template="tokenizer",
        special_tokens="once",
        sampling=sampling,
        max_tokens=max_tokens,
        repeats=repeats,
        **settings,
    )


def _pc(items: pd.DataFrame, options: McBEOptions) -> pd.DataFrame:
    rows = []
    for item in items.itertuples():
        words = words_of(item, options)
        if len(words) == 1 and options.one_word == "exclude":
            continue
        for number, word in enumerate(words, start=1):
            context = fill(item.context, word) if options.pc_text == "context_and_template" else ""
            rows.append((f"{item.item_id}/{number}", item.item_id, word, context, fill(item.sentence, word)))
    requests = pd.DataFrame(rows, columns=["request_id", "item_id", "word", "prefix", "continuation"])
    return requests.assign(
        kind="likelihood",
        messages=None,
        template="tokenizer",
        special_tokens=_SPECIAL_TOKENS[options.pc_bos],
        boundary="offsets",
        repeats=1,
    )


def _sc(
    items: pd.DataFrame,
    options: McBEOptions,
    prompts: Mapping[str, str],
    listed: Mapping[str, Sequence[str]],
    other: Mapping[str, Sequence[str]],
    context_last: Collection[str],
) -> Iterator[dict]:
    in_file = {name: list(dict.fromkeys(rows["subcategory"])) for name, rows in items.groupby("category", sort=False)}
    for item in items.itertuples():
        labels = in_file[item.category]
        if options.sc_labels != "file_set":
            labels = list(dict.fromkeys([*listed.get(item.category, sorted(labels)), item.subcategory]))
        if options.sc_labels == "shuffled":
            random.Random(hashlib.sha256(item.item_id.encode()).digest()).shuffle(labels)
        parts = [item.sentence] if options.sc_text == "default_sentence" else [item.context, item.sentence]
        if item.item_id in context_last:
            parts.reverse()
        text = fill("".join(parts), first_word(item))
        shown = str(labels) if options.sc_labels == "file_set" else "、".join(labels)
        for prompt_set, name in _templates(options, "sc", "sc_alternative"):
            yield {
                "request_id": f"{item.item_id}/{prompt_set}",
                "item_id": item.item_id,
                "prompt_set": prompt_set,
                "subcategory": item.subcategory,
                "prompt": fill_slots(prompts[name], {"sentence": text, "labels": shown}),
                "labels": json.dumps(labels, ensure_ascii=False),
                "options": json.dumps([[each, *other.get(each, ())] for each in labels], ensure_ascii=False),
                "parser": PARSER_OF[options.sc_match],
            }


def _context_last(options: McBEOptions, orders: pd.DataFrame | None) -> set[str]:
    """Items whose context goes after the sentence: the judge replied "2", and nothing else."""
    if options.sc_text != "judge_ordered_context":
        return set()
    if orders is None:
        raise ValueError("sc_text is judge_ordered_context: SC is asked in the order that a judge gave")
    return set(orders.loc[orders["text"] == "2", "request_id"].str.removesuffix("/order"))


def _templates(options: McBEOptions, original: str, alternative: str) -> list[tuple[str, str]]:
    """Prompt sets, each with the name of its prompt."""
    wanted = [("original", original), ("alternative", alternative)]
    return wanted if options.prompt_sets == "both" else wanted[:1]


def _ss(items: pd.DataFrame, options: McBEOptions, prompt: str) -> Iterator[dict]:
    labels = json.dumps(["A", "B", "AB"] if options.ss_parse == "first_five_characters" else ["A", "B"])
    for item in items.itertuples():
        words = words_of(item, options)
        text = (item.context if options.ss_text == "context_and_sentence" else "") + item.sentence
        sentences = [fill(text, word) for word in words]
        for pair in itertools.combinations(range(len(words)), 2):
            for first, second in (pair, pair[::-1]):
                yield {
                    "request_id": f"{item.item_id}/{first + 1}-{second + 1}",
                    "item_id": item.item_id,
                    "first_word": words[first],
                    "second_word": words[second],
                    "prompt": fill_slots(prompt, {"first": sentences[first], "second": sentences[second]}),
                    "labels": labels,
                    "parser": PARSER_OF[options.ss_parse],
                }


def _ba(items: pd.DataFrame, prompt: str) -> Iterator[dict]:
    for item in items.itertuples():
        yield {
            "request_id": item.item_id,
            "item_id": item.item_id,
            "prompt": fill_slots(prompt, {"word": first_word(item), "sentence": default_sentence(item)}),
        }


def _bs(items: pd.DataFrame, options: McBEOptions, prompts: Mapping[str, str]) -> Iterator[dict]:
    labels = json.dumps(SEVERITIES)
    for item in items.itertuples():
        for prompt_set, name in _templates(options, "bs", "bs_alternative"):
            yield {
                "request_id": f"{item.item_id}/{prompt_set}",
                "item_id": item.item_id,
                "prompt_set": prompt_set,
                "prompt": fill_slots(prompts[name], {"sentence": default_sentence(item)}),
                "labels": labels,
                "parser": PARSER_OF[options.bs_parse],
            }


def words_of(item: Any, options: McBEOptions) -> list[str]:
    """The words of ``item`` (a row of the items) under the option ``repeated_words``."""
    words = json.loads(item.words)
    return words if options.repeated_words == "as_listed" else list(dict.fromkeys(words))


def fill(text: str, word: str) -> str:
    """``text`` with ``word`` wherever the placeholder stands."""
    return text.replace(PLACEHOLDER, word)


def first_word(item: Any) -> str:
    """The first word of the list of ``item``."""
    return json.loads(item.words)[0]


def default_sentence(item: Any) -> str:
    """The sentence of ``item`` with the first word of its list."""
    return fill(item.sentence, first_word(item))


def prompts(source: str, resources: Resources) -> dict[str, str]:
    """Prompts for the model under test, with slots ``{sentence}`` and the like: sc, ss, ba, bs, and for two of them a
    second template, sc_alternative and bs_alternative (which the authors' code lacks).

    The paper's prompts are sent as the user copied them. But SC is derived from the code, whose words are the printed
    ones, and the severity levels are the code's, since the paper prints them in English only. The paper's BS has no
    slot for the sentence: it goes where the prompt first mentions it, as in the code.
    """
    if source == "ours":
        return resources.yaml("prompts/mcbe/model.yaml")
    released = {
        name: template(prompts_of_code(resources, "eval.py", function)[0], slots)
        for name, (function, slots) in _SLOTS.items()
    }
    if source == "released":
        return released
    text = printed(resources, "mcbe")
    levels = "\n" + "\n".join(line for line in released["bs"].splitlines() if line.startswith("- ")) + "\n"
    return {
        "sc": ",".join(plain(line) for line in released["sc"].splitlines()),
        "ss": with_slots(text["ss"], {"[Sentence1]": "{first}", "[Sentence2]": "{second}"}),
        "ba": with_slots(text["ba"], {"[Word]": "{word}", "[DefaultSentence]": "{sentence}"}),
        "bs": _bs_prompt(text["bs"], levels),
        "sc_alternative": with_slots(
            text["sc_alternative"], {"[DefaultSentence]": "{sentence}", "[AllSubcategories]": "{labels}"}
        ),
        "bs_alternative": _bs_prompt(text["bs_alternative"], levels),
    }


def _bs_prompt(text: str, levels: str) -> str:
    with_sentence = re.sub(r"\s*([,，])", r":{sentence}\1", text, count=1)
    return with_slots(with_sentence, {"[ScoringCriteriaforBiasScoring]": levels})


def prompts_of_code(resources: Resources, file: str, function: str) -> Sequence[Sequence[str]]:
    return formatted_strings(resources.path("templates/mcbe_code") / file, function, "prompt")


#: Columns of items in which the character frequencies of a simulated model are counted.
TEXTS = ("context", "sentence")

#: How an analysis states what share of a judge's points it is worth.
STATED = re.compile(r"质量：(\d\.\d+)")


def bias_roles(step: Step) -> Roles:
    """Roles of a task's requests, or of a judge's requests about it. A subcategory is a cluster, and the group.

    Requests without labels (analyses, and a judge's about the order of context and sentence) have signs of 0.
    """
    requests = step.requests
    asked = step.items.set_index("item_id").loc[requests["item_id"]].reset_index()
    if step.task == "PC":
        return _pc_roles(asked, requests)
    if "labels" not in requests or requests["labels"].isna().all():
        return text_roles(_about(asked), requests["request_id"], np.zeros(len(requests)))
    if "criterion" in requests:
        return _grades(asked, requests)
    return {"SC": _sc_roles, "SS": _ss_roles, "BS": _bs_roles}[step.task](asked, requests)


def _pc_roles(asked: pd.DataFrame, requests: pd.DataFrame) -> Roles:
    """``stereotype_sign`` goes from the first word of an item's list to the last."""
    return text_roles(_about(asked), requests["request_id"], _places(asked, requests["word"]))


def _sc_roles(asked: pd.DataFrame, requests: pd.DataFrame) -> Roles:
    """``right`` is the right subcategory; no label has a sign."""
    pairs = zip(_labels(requests), requests["subcategory"], strict=True)
    right = _matrix([[float(label == name) for label in row] for row, name in pairs]).astype(float)
    return label_roles(_about(asked), _by_label(requests), _neutral(right), right=right)


def _ss_roles(asked: pd.DataFrame, requests: pd.DataFrame) -> Roles:
    """``stereotype_sign`` of a word falls along the item's list; the label AB, which names both, has none."""
    shape = len(requests), len(_labels(requests)[0])
    sign = np.full(shape, np.nan)
    part = np.broadcast_to(requests[["item_id"]].to_numpy(object), shape).copy()
    for position, column in enumerate(("first_word", "second_word")):
        sign[:, position] = _places(asked, requests[column])
        part[:, position] = requests["item_id"] + "/" + requests[column]
    return label_roles(_about(asked), part, sign)


def _bs_roles(asked: pd.DataFrame, requests: pd.DataFrame) -> Roles:
    """``right`` is minus the distance from the annotators' severity, ``stereotype_sign`` 0.5 for 0 to -0.5 for 10."""
    value = _values(requests)
    right = -abs(value - asked["severity"].to_numpy()[:, None])
    return label_roles(_about(asked), _by_label(requests), 0.5 - value / 10, right=right)


def _grades(asked: pd.DataFrame, requests: pd.DataFrame) -> Roles:
    """For a judge ``right`` is minus the distance from the share of the points that the analysis states.

    Where it states none, no label has a value.
    """
    value = _values(requests)
    stated = [STATED.search(messages) for messages in requests["messages"]]
    share = np.array([float(match[1]) if match else np.nan for match in stated])
    right = -abs(value - (share * np.nanmax(value, axis=1))[:, None])
    return label_roles(_about(asked), _by_label(requests), _neutral(right), right=right)


def _about(asked: pd.DataFrame) -> pd.DataFrame:
    groups = {"cluster": "subcategory", "category": "category", "group": "subcategory"}
    return pd.DataFrame({name: asked[column] for name, column in groups.items()})


def _places(asked: pd.DataFrame, words: pd.Series) -> list[float]:
    """The place of each of ``words`` in its item's list, from 0.5 for the first word to -0.5 for the last."""
    lists = [list(dict.fromkeys(json.loads(text))) for text in asked["words"]]
    return [evenly(listed.index(word), len(listed)) for listed, word in zip(lists, words, strict=True)]


def _labels(requests: pd.DataFrame) -> list[list[str]]:
    return [json.loads(text) for text in requests["labels"]]


def _by_label(requests: pd.DataFrame) -> NDArray[np.object_]:
    """A name for the part of each label: the item with the label's own text."""
    pairs = zip(requests["item_id"], _labels(requests), strict=True)
    return _matrix([[f"{item}/{label}" for label in row] for item, row in pairs])


def _values(requests: pd.DataFrame) -> NDArray[np.float64]:
    """The labels as numbers."""
    return _matrix([[float(label) for label in row] for row in _labels(requests)]).astype(float)


def _neutral(right: NDArray[np.float64]) -> NDArray[np.float64]:
    """A sign of 0 for each label that has a value in ``right``."""
    return np.where(np.isnan(right), np.nan, 0.0)


def _matrix(rows: list[list]) -> NDArray[np.object_]:
    """``rows`` as one array; NaN beyond the end of a shorter one."""
    width = max(map(len, rows))
    return np.array([[*row, *[np.nan] * (width - len(row))] for row in rows], object)
