"""Prompted benchmarks share this: options of protocols, and requests for choices between lettered options."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal
from zlib import crc32

from biasatlas.benchmarks.contract import Options
from biasatlas.stages import field

if TYPE_CHECKING:
    import pandas as pd

#: Columns of requests that ask in a chat through the model's own template, and leave its distribution as it is.
CHAT: Mapping[str, object] = {
    "prefix": "",
    "template": "tokenizer",
    "special_tokens": "once",
    "top_p": 1.0,
    "top_k": 0,
    "repetition_penalty": 1.0,
    "frequency_penalty": 0.0,
}


class SamplingOptions(Options):
    """How answers are drawn; each is a column of a request, too."""

    temperature: float = field("answers", ge=0, description="Sampling temperature")
    top_p: float = field(
        "answers",
        gt=0,
        le=1,
        description="Sample only from the likeliest tokens that together have this probability (nucleus "
        "sampling); 1: from all",
    )
    top_k: int = field("answers", ge=0, description="Sample only from this many of the likeliest tokens; 0: from all")
    repetition_penalty: float = field(
        "answers", gt=0, description="Penalty on tokens that the prompt or the answer already contains; 1: none"
    )
    frequency_penalty: float = field(
        "answers",
        ge=-2,
        le=2,
        description="Penalty on a token for each time that the answer already contains it; 0: none",
    )
    max_tokens: int = field("answers", gt=0, le=131_072, description="Longest answer, in tokens")
    repeats: int = field(
        "answers", gt=0, le=10_000, description="How many answers to sample from a model that gives no probabilities"
    )


class PromptOptions(SamplingOptions):
    """How a choice is asked, and how an answer is drawn from a model that gives no probabilities."""

    layout: Literal["chat", "plain"] = field(
        "answers", description="`chat`: the prompt is a user message; `plain`: it is raw text to continue"
    )


class ReadOptions(PromptOptions):
    """Also how a reply is parsed, for families in which some authors state their own rule."""

    parser: Literal["whole", "beginning"] = field(
        "answers",
        description="`whole`: a reply's answer is read wherever it stands; `beginning`: only at the start, or "
        "else as the only option in brackets, quotation marks or asterisks",
    )


def sampling(options: SamplingOptions) -> dict[str, object]:
    """The sampling settings of a protocol as columns of requests."""
    return {name: getattr(options, name) for name in SamplingOptions.model_fields}


def choice_columns(
    prompts: Sequence[str], labels: Sequence[str], texts: Iterable[Sequence], options: PromptOptions
) -> dict[str, object]:
    """The columns of choice requests, except ids, from ``prompts``, lettered ``labels`` and, for each prompt, the
    ``texts`` of its options: each a text, or a list of it and other names of the option."""
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
    items: "pd.DataFrame",
    template: str,
    sentences: Sequence[str],
    labels: Sequence[str],
    every_order: bool,
    options: PromptOptions,
) -> "pd.DataFrame":
    """A request per item and rotation of its ``sentences`` (columns of ``items``), or per item in one order.

    The fields of ``template`` are columns of ``items`` and ``labels``. ``order`` is a JSON list: each label's sentence.
    The first order depends on the item's id, so no sentence keeps a place; rotations put each sentence at every place.
    """
    import pandas as pd  # planning reads options alone

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
