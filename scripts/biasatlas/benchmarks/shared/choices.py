"""Preferences between options: requests for prompted choices, and what choices and likelihoods prefer."""

import json
from collections.abc import Sequence
from zlib import crc32

import numpy as np
import pandas as pd

from biasatlas.benchmarks.shared.prompting import SAMPLING

MASSES = ("refused", "unparseable", "unresolved")


def choice_columns(prompts: Sequence[str], labels: Sequence[str], protocol: dict) -> dict:
    """The columns of choice requests with these ``prompts`` and lettered ``labels``."""
    chat = protocol["layout"] == "chat"
    return {
        "kind": "choice",
        "messages": [json.dumps([{"role": "user", "content": text}]) for text in prompts] if chat else None,
        "prefix": "" if chat else list(prompts),
        "template": "tokenizer" if chat else None,
        "special_tokens": "once",
        "labels": json.dumps(list(labels)),
        "reader": "letter",
        **{name: protocol[name] for name in SAMPLING},
    }


def sentence_choices(
    items: pd.DataFrame,
    wording: str,
    sentences: Sequence[str],
    labels: Sequence[str],
    every_order: bool,
    protocol: dict,
) -> pd.DataFrame:
    """A request per item and rotation of its ``sentences`` (columns of ``items``), or per item in one order.

    ``wording`` has the fields of ``items`` and of ``labels``. ``order`` is a JSON list: the sentence behind each label.
    The first order is drawn from the item's id, so that no sentence keeps a place; rotations put each in every place.
    """
    rows = []
    for item in items.to_dict("records"):
        code = crc32(item["item_id"].encode())
        first = list(sentences) if code % 2 else list(sentences)[::-1]
        for turn in range(len(first) if every_order else 1):
            start = (code // 2 + turn) % len(first)
            order = first[start:] + first[:start]
            options = {label: item[sentence] for label, sentence in zip(labels, order, strict=True)}
            rows.append((item["item_id"], turn, json.dumps(order), wording.format(**item | options)))
    table = pd.DataFrame(rows, columns=["item_id", "turn", "order", "prompt"])
    return pd.DataFrame(
        {
            "request_id": table["item_id"] + "/" + table["turn"].astype(str),
            "item_id": table["item_id"],
            **choice_columns(table["prompt"], labels, protocol),
            "order": table["order"],
        }
    )


def parse_probabilities(probabilities: pd.Series, labels: Sequence[str]) -> np.ndarray:
    """JSON lists as an array (rows, labels); a row of NaN where there is none."""
    known = probabilities.notna().to_numpy()
    values = np.full((len(probabilities), len(labels)), np.nan)
    if known.any():
        values[known] = json.loads("[" + ",".join(probabilities[known]) + "]")
    return values


def chosen_sentences(requests: pd.DataFrame, responses: pd.DataFrame, sentences: Sequence[str]) -> pd.DataFrame:
    """Mean probability of each sentence and of each of ``MASSES`` by item, over its orders and repeats; and ``status``.

    The status is "failed" where an order has no answer, "ok" where any sentence was chosen, else what took its place.
    """
    joined = requests.merge(responses, on="request_id", how="left", validate="one_to_many")
    shares = parse_probabilities(joined["probabilities"], sentences)
    order = np.array([json.loads(labels) for labels in joined["order"]]).reshape(len(joined), len(sentences))
    for sentence in sentences:
        joined[sentence] = shares[order == sentence]
    groups = joined.groupby("item_id")
    mean = groups[[*sentences, *MASSES]].mean()
    unanswered = groups["probabilities"].count() < groups.size()
    answered = mean[list(sentences)].sum(axis=1) > 0
    silent = np.where(mean["refused"] >= mean["unparseable"] + mean["unresolved"], "refused", "unparseable")
    mean["status"] = np.select([unanswered, answered], ["failed", "ok"], default=silent)
    return mean


def sentence_likelihoods(requests: pd.DataFrame, responses: pd.DataFrame, reduction: str) -> pd.DataFrame:
    """Log-likelihood in nats of each sentence (column ``label`` of ``requests``) by item, and ``status``.

    ``reduction``: "sum" over tokens or "mean" per token. An item is as good as its worst sentence: "ok" if
    all are, else that of one that is not; a sentence without response or without value is "failed".
    """
    joined = requests.merge(responses, on="request_id", how="left", validate="one_to_one")
    value = -joined["nll_per_token"] if reduction == "mean" else joined["log_likelihood"]
    status = joined["status"].fillna("failed")
    joined = joined.assign(value=value, status=status.mask((status == "ok") & value.isna(), "failed"))
    wide = joined.pivot(index="item_id", columns="label", values="value")
    worst = joined.sort_values("status", key=lambda status: status == "ok", kind="stable").drop_duplicates("item_id")
    return wide.join(worst.set_index("item_id")["status"])
