"""Build DBB's requests: a choice between two options for each question, or the likelihood of their variations."""

import itertools
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from biasatlas.benchmarks.dbb.options import DBBOptions
from biasatlas.benchmarks.dbb.texts import faults, fill, fill_variations
from biasatlas.benchmarks.dbb.vocabulary import LABELS
from biasatlas.benchmarks.dbb.wording import choice_prompt, story_prompt
from biasatlas.benchmarks.shared.choices import sampling
from biasatlas.benchmarks.shared.wording import fill_slots
from biasatlas.resources import Resources

#: The one line that each wrapper of the authors' code sends before a prompt (`src/llm_utils.py`); the paper prints none. Words of
#: theirs are fetched where a checksum says what a file must be. Of this file none is known, and the line is in common use.
_SYSTEM_PROMPT = "You are a useful assistant."


def build_requests(
    items: pd.DataFrame,
    task: str,
    categories: Sequence[str],
    options: DBBOptions,
    resources: Resources,
    orders: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """MCQ: one request per question and order of its options. SG: one per question, option and variation.

    Key columns: those of :mod:`biasatlas.benchmarks.dbb.columns`. ``resources`` holds the prompts. Items with a fault are
    left out; scoring reports them.
    """
    items = items[faults(items, task, options) == ""]
    wanted = items["category"].isin(categories)
    if not wanted.any():
        return pd.DataFrame(columns=["request_id"])
    # Filled before other categories are left out: the authors' code carries texts from one question to the next.
    filled = fill(items, options)[wanted]
    if task == "MCQ":
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
            "reader": options.reader,
            **sampling(options),
            "order": order,
        }
    )


def _likelihoods(items: pd.DataFrame, filled: pd.DataFrame, options: DBBOptions, resources: Resources) -> pd.DataFrame:
    prompt = story_prompt(options.sg_prompt, resources)
    messages = [_messages(fill_slots(prompt, {"context": context}), options) for context in filled["context"]]
    variations = fill_variations(items, filled, options)
    sizes = np.array([[len(texts) for texts in column] for column in variations]).T  # item by option
    requests = sizes.sum(axis=1)  # of each item
    option = np.repeat(np.tile((1, 2), len(items)), sizes.ravel())
    variation = np.concatenate([np.arange(size) for size in sizes.ravel()])
    item_ids = items["item_id"].repeat(requests).reset_index(drop=True)
    apart = options.sg_special_tokens == "include"
    continuations = itertools.chain.from_iterable(itertools.chain.from_iterable(zip(*variations, strict=True)))
    return pd.DataFrame(
        {
            "request_id": item_ids + "/" + pd.Series(option.astype(str)) + "/" + variation.astype(str),
            "item_id": item_ids,
            "kind": "likelihood",
            # Categories, for one and a half million rows have few different texts.
            "messages": pd.Categorical(messages).repeat(requests),
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
