"""Requests for prompted choices between lettered options."""

import json
from collections.abc import Iterable, Sequence
from zlib import crc32

import pandas as pd

from biasatlas.benchmarks.shared.prompting import PromptOptions, SamplingOptions


def sampling(options: SamplingOptions) -> dict[str, object]:
    """The sampling settings of a protocol as columns of requests."""
    return {name: getattr(options, name) for name in SamplingOptions.model_fields}


def choice_columns(
    prompts: Sequence[str], labels: Sequence[str], texts: Iterable[Sequence], options: PromptOptions
) -> dict[str, object]:
    """The columns of choice requests, all but their ids: ``prompts``, lettered ``labels``, and by prompt the ``texts``
    behind them, each a text or a list of it and other names of the option."""
    chat = options.layout == "chat"
    return {
        "kind": "choice",
        "messages": [json.dumps([{"role": "user", "content": text}]) for text in prompts] if chat else None,
        "prefix": "" if chat else list(prompts),
        "template": "tokenizer" if chat else None,
        "special_tokens": "once",
        "labels": json.dumps(list(labels)),
        "options": [json.dumps(list(shown), ensure_ascii=False) for shown in texts],
        "parser": "letter",
        **sampling(options),
    }


def sentence_choices(
    items: pd.DataFrame,
    template: str,
    sentences: Sequence[str],
    labels: Sequence[str],
    every_order: bool,
    options: PromptOptions,
) -> pd.DataFrame:
    """A request per item and rotation of its ``sentences`` (columns of ``items``), or per item in one order.

    ``template`` has the fields of ``items`` and of ``labels``. ``order`` is a JSON list: the sentence behind each
    label. The first order is drawn from the item's id, so that no sentence keeps a position; rotations put each in all.
    """
    rows = []
    for item in items.to_dict("records"):
        code = crc32(item["item_id"].encode())
        first = list(sentences) if code % 2 else list(sentences)[::-1]
        for turn in range(len(first) if every_order else 1):
            start = (code // 2 + turn) % len(first)
            order = first[start:] + first[:start]
            lettered = {label: item[sentence] for label, sentence in zip(labels, order, strict=True)}
            rows.append(
                (item["item_id"], turn, json.dumps(order), template.format(**item | lettered), list(lettered.values()))
            )
    table = pd.DataFrame(rows, columns=["item_id", "turn", "order", "prompt", "texts"])
    return pd.DataFrame(
        {
            "request_id": table["item_id"] + "/" + table["turn"].astype(str),
            "item_id": table["item_id"],
            **choice_columns(table["prompt"], labels, table["texts"], options),
            "order": table["order"],
        }
    )
