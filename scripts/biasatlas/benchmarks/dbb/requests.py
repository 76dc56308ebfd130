"""Build DBB's requests: a choice between two options for each question, or the likelihood of their variations."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas.benchmarks.dbb import LABELS
from biasatlas.benchmarks.dbb.texts import faults, fill, fill_variations

_PROMPTS = Path(__file__).parents[4] / "resources/prompts/dbb"
#: The one line in the wrappers of the authors' code.
_SYSTEM = "You are a useful assistant."
_SAMPLING = ("temperature", "top_p", "top_k", "repetition_penalty", "frequency_penalty", "max_tokens", "repeats")


def build_requests(items: pd.DataFrame, task: str, categories: list[str], protocol: dict) -> pd.DataFrame:
    """MCQ: one request per question and order of its options. SG: one per question, option and variation.

    Own key columns. MCQ: ``order``, 1 where the first concept's option is shown first (as A), 2 where the second's is.
    SG: ``option`` (1 or 2) and ``variation`` (from 0). Items with a fault are left out; scoring reports them.
    """
    usable = items[faults(items, task, protocol) == ""]
    wanted = usable["category"].isin(categories)
    if not wanted.any():
        return pd.DataFrame(columns=["request_id"])
    # Filled before other categories are left out: the authors' code carries texts from one question to the next.
    filled = fill(usable, protocol)[wanted]
    usable = usable[wanted]
    return _choices(filled, protocol) if task == "MCQ" else _likelihoods(usable, filled, protocol)


def _choices(filled: pd.DataFrame, protocol: dict) -> pd.DataFrame:
    instruction, layout = _read(protocol["prompt"]), _read(protocol["layout"])
    orders = (1, 2) if protocol["option_order"] == "counterbalanced" else (1,)
    ids, messages = [], []
    for item_id, context, *options in filled[["item_id", "context", "option_1", "option_2"]].itertuples(index=False):
        for order in orders:
            first, second = options if order == 1 else reversed(options)
            ids.append(item_id)
            messages.append(
                _messages(f"{instruction}\n\n{layout.format(context=context, first=first, second=second)}", protocol)
            )
    order = np.tile(orders, len(filled))
    return pd.DataFrame(
        {
            "request_id": pd.Series(ids) + "/" + order.astype(str),
            "item_id": ids,
            "kind": "choice",
            "messages": messages,
            "prefix": "",
            "template": "tokenizer",
            "special_tokens": "once",
            "labels": json.dumps(LABELS),
            "reader": "letter",
            **{name: protocol[name] for name in _SAMPLING},
            "order": order,
        }
    )


def _likelihoods(usable: pd.DataFrame, filled: pd.DataFrame, protocol: dict) -> pd.DataFrame:
    prompt = _read(f"story_{protocol['sg_prompt']}")
    contexts = [_messages(prompt.format(context=context), protocol) for context in filled["context"]]
    columns = fill_variations(usable, filled, protocol)
    sizes = np.array([[len(own) for own in column] for column in columns]).T  # item by option
    counts = sizes.sum(axis=1)
    option = np.repeat(np.tile((1, 2), len(usable)), sizes.ravel())
    variation = np.concatenate([np.arange(size) for size in sizes.ravel()])
    item_ids = usable["item_id"].repeat(counts).reset_index(drop=True)
    places = pd.Series(option.astype(str)) + "/" + variation.astype(str)
    apart = protocol["sg_special_tokens"] == "include"
    texts = itertools.chain.from_iterable(itertools.chain.from_iterable(zip(*columns, strict=True)))
    return pd.DataFrame(
        {
            "request_id": item_ids + "/" + places,
            "item_id": item_ids,
            "kind": "likelihood",
            # Categories, for one and a half million rows have few different texts.
            "messages": pd.Categorical(contexts).repeat(counts),
            "prefix": "",
            "continuation": pd.Categorical(list(texts)),
            "template": "tokenizer",
            "special_tokens": "tokenizer" if apart else "once",
            "boundary": "separate" if apart else "offsets",
            "repeats": 1,
            "option": option,
            "variation": variation,
        }
    )


def _messages(prompt: str, protocol: dict) -> str:
    system = [{"role": "system", "content": _SYSTEM}] if protocol["system_prompt"] == "released" else []
    return json.dumps([*system, {"role": "user", "content": prompt}], ensure_ascii=False)


def _read(name: str) -> str:
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()
