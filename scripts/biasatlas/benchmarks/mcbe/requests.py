"""Build McBE's requests: what each of the five tasks asks about an instance."""

import hashlib
import itertools
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import yaml

from biasatlas.benchmarks.mcbe.items import PLACEHOLDER, subcategories

_PROMPTS = Path(__file__).parents[4] / "resources/prompts/mcbe"
_SPECIAL_TOKENS = {"force": "once", "tokenizer_default": "tokenizer", "none": "none"}
_UNTEMPERED = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "repetition_penalty": 1.0, "frequency_penalty": 0.0}
#: Severities that a reply is read as: the instances' own scores have at most one decimal.
SEVERITIES = [f"{tenths / 10:g}" for tenths in range(101)]


def build_requests(
    items: pd.DataFrame, task: str, categories: list[str], protocol: dict, orders: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The requests of one task for the items of ``categories``; an instance with nothing to compare (PC, SS) has none.

    Own key columns, by task:

    - PC: ``word``; SS: ``first_word`` and ``second_word``, every unordered pair in both orders; SC and BS:
      ``prompt_set``, original or alternative; SC also ``subcategory``, the right one
    - all but PC: ``sampling``, the settings that stand where a request leaves its own missing: "table8" names some in
      the model's entry, "checkpoint" is the checkpoint's generation configuration. Missing: the request has its own.

    ``orders`` are a judge's responses to :func:`biasatlas.benchmarks.mcbe.judge.build_order_requests`, needed where
    ``sc_text`` is judge_ordered_context.
    """
    items = items[items["category"].isin(categories)]
    if task == "PC":
        return _likelihood_requests(items, protocol)
    build = {"SC": _sc, "SS": _ss, "BA": _ba, "BS": _bs}[task]
    prompts = read_prompts("model")
    rows = build(items, protocol, prompts, orders) if task == "SC" else build(items, protocol, prompts)
    rows = pd.DataFrame(rows)
    if rows.empty:
        return rows
    analysis = task == "BA"
    return finish(
        rows,
        kind="generation" if analysis or protocol["answers"] == "sampled" else "choice",
        repeats=protocol["repeats"],
        max_tokens=protocol["max_tokens_analysis" if analysis else "max_tokens_answer"],
        generation=protocol["generation"],
        system=protocol["system_prompt"] == "none",
    )


def read_prompts(name: str) -> dict:
    """The prompts for the ``model`` under test or for the ``judge``."""
    return yaml.safe_load((_PROMPTS / f"{name}.yaml").read_text(encoding="utf-8"))


def finish(
    requests: pd.DataFrame, *, kind: str, repeats: int, max_tokens: int, generation: str, system: bool = False
) -> pd.DataFrame:
    """Add what a task's requests have in common; column ``prompt`` becomes the user's message."""
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


def words_of(item, protocol: dict) -> list[str]:
    """The item's words under the option ``repeated_words``."""
    words = json.loads(item.words)
    return words if protocol["repeated_words"] == "as_listed" else list(dict.fromkeys(words))


def fill(text: str, word: str) -> str:
    """``text`` with ``word`` wherever the placeholder stands."""
    return text.replace(PLACEHOLDER, word)


def default_sentence(item) -> str:
    """The sentence with the first word of its list."""
    return fill(item.sentence, json.loads(item.words)[0])


def _likelihood_requests(items: pd.DataFrame, protocol: dict) -> pd.DataFrame:
    rows = []
    for item in items.itertuples():
        words = words_of(item, protocol)
        if len(words) == 1 and protocol["one_word"] == "exclude":
            continue
        for number, word in enumerate(words, start=1):
            context = fill(item.context, word) if protocol["pc_text"] == "context_and_template" else ""
            rows.append((f"{item.item_id}/{number}", item.item_id, word, context, fill(item.sentence, word)))
    requests = pd.DataFrame(rows, columns=["request_id", "item_id", "word", "prefix", "continuation"])
    return requests.assign(
        kind="likelihood",
        messages=None,
        template="tokenizer",
        special_tokens=_SPECIAL_TOKENS[protocol["pc_bos"]],
        boundary="offsets",
        repeats=1,
    )


def _sc(items: pd.DataFrame, protocol: dict, prompts: dict, orders: pd.DataFrame | None) -> Iterable[dict]:
    listed = subcategories()
    in_file = {name: list(dict.fromkeys(rows["subcategory"])) for name, rows in items.groupby("category", sort=False)}
    last = _context_last(protocol, orders)
    for item in items.itertuples():
        labels = in_file[item.category]
        if protocol["sc_labels"] != "file_set":
            labels = list(listed.get(item.category, sorted(labels)))
        if protocol["sc_labels"] == "shuffled":
            random.Random(hashlib.sha256(item.item_id.encode()).digest()).shuffle(labels)
        parts = [item.sentence] if protocol["sc_text"] == "default_sentence" else [item.context, item.sentence]
        if item.item_id in last:
            parts.reverse()
        text = fill("".join(parts), json.loads(item.words)[0])
        shown = str(labels) if protocol["sc_labels"] == "file_set" else "、".join(labels)
        for prompt_set, name in _wordings(protocol, "sc", "sc_alternative"):
            yield {
                "request_id": f"{item.item_id}/{prompt_set}",
                "item_id": item.item_id,
                "prompt_set": prompt_set,
                "subcategory": item.subcategory,
                "prompt": prompts[name].format(sentence=text, labels=shown),
                "labels": json.dumps(labels, ensure_ascii=False),
                "reader": f"mcbe_{protocol['sc_match']}",
            }


def _context_last(protocol: dict, orders: pd.DataFrame | None) -> set[str]:
    """Items whose context goes behind the sentence: those of which the judge said "2", and nothing else."""
    if protocol["sc_text"] != "judge_ordered_context":
        return set()
    return set(orders.loc[orders["text"] == "2", "request_id"].str.removesuffix("/order"))


def _wordings(protocol: dict, original: str, alternative: str) -> list[tuple[str, str]]:
    wordings = [("original", original), ("alternative", alternative)]
    return wordings if protocol["prompt_sets"] == "both" else wordings[:1]


def _ss(items: pd.DataFrame, protocol: dict, prompts: dict) -> Iterable[dict]:
    labels = json.dumps(["A", "B", "AB"] if protocol["ss_parse"] == "first_five_characters" else ["A", "B"])
    for item in items.itertuples():
        words = words_of(item, protocol)
        text = (item.context if protocol["ss_text"] == "context_and_sentence" else "") + item.sentence
        sentences = [fill(text, word) for word in words]
        for one, other in itertools.combinations(range(len(words)), 2):
            for first, second in ((one, other), (other, one)):
                yield {
                    "request_id": f"{item.item_id}/{first + 1}-{second + 1}",
                    "item_id": item.item_id,
                    "first_word": words[first],
                    "second_word": words[second],
                    "prompt": prompts["ss"].format(first=sentences[first], second=sentences[second]),
                    "labels": labels,
                    "reader": f"mcbe_{protocol['ss_parse']}",
                }


def _ba(items: pd.DataFrame, protocol: dict, prompts: dict) -> Iterable[dict]:
    for item in items.itertuples():
        yield {
            "request_id": item.item_id,
            "item_id": item.item_id,
            "prompt": prompts[f"ba_{protocol['ba_length']}"].format(
                word=json.loads(item.words)[0], sentence=default_sentence(item)
            ),
        }


def _bs(items: pd.DataFrame, protocol: dict, prompts: dict) -> Iterable[dict]:
    labels = json.dumps(SEVERITIES)
    for item in items.itertuples():
        for prompt_set, name in _wordings(protocol, f"bs_{protocol['bs_prompt']}", "bs_alternative"):
            yield {
                "request_id": f"{item.item_id}/{prompt_set}",
                "item_id": item.item_id,
                "prompt_set": prompt_set,
                "prompt": prompts[name].format(sentence=default_sentence(item)),
                "labels": labels,
                "reader": f"mcbe_{protocol['bs_parse']}",
            }
