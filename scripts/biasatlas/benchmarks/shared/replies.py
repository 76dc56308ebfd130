"""What sampled replies say, reply by reply: how many could be read, those that could not, and whether groups differ in it."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kruskal

from biasatlas.benchmarks.shared.readers import AMBIGUOUS, REFUSED, UNPARSEABLE, Reader, whole_reading
from biasatlas.benchmarks.shared.readers.reply import answer_part

#: What a reply may come to, besides an answer ("ok").
UNREAD = (REFUSED, AMBIGUOUS, UNPARSEABLE, "truncated")
#: Columns of items that may group them.
GROUPS = ("category", "identity", "target_group", "polarity", "condition", "direction")


def sampled_replies(requests: pd.DataFrame, responses: pd.DataFrame) -> pd.DataFrame:
    """A row per sampled reply that was read for a label: ``request_id``, ``item_id``, ``repeat``, ``said`` (its status),
    ``text``, ``reader``, ``labels`` (a list), and ``order`` where requests have it. Exact probabilities have no replies."""
    columns = [name for name in ("request_id", "item_id", "reader", "labels", "order") if name in requests]
    rows = requests[columns].merge(responses, on="request_id", validate="1:m")
    rows = rows[rows["reader"].notna()] if "reader" in rows else rows.iloc[:0]
    if "replies" in rows and rows["replies"].notna().any():
        said = rows[rows["replies"].notna()]
        said = said.assign(reply=said["replies"].map(json.loads)).explode("reply", ignore_index=True)
        said["repeat"] = said.groupby("request_id").cumcount()
        rows = said.assign(status=said["reply"].str[0], text=said["reply"].str[1])
    if "text" not in rows:
        return pd.DataFrame(columns=[*columns, "repeat", "said", "text"])
    rows = rows[~rows["status"].isin(("failed", "not_applicable"))].rename(columns={"status": "said"})
    kept = rows[[*columns, "repeat", "said", "text"]].reset_index(drop=True)
    return kept.assign(text=kept["text"].fillna(""), labels=kept["labels"].map(json.loads))


def read(replies: pd.DataFrame, readers: Mapping[str, Reader], reader: str | None = None) -> pd.DataFrame:
    """``replies`` with ``found``: the label that each gives, missing where there is none, and ``outcome``: "ok" or why not.

    ``reader`` reads instead of those that the requests name. A reply that was cut off at its longest is "truncated" where it
    gives no answer so far.
    """
    found, outcomes = [], []
    for row in replies.itertuples():
        reading = REFUSED if row.said == REFUSED else whole_reading(readers[reader or row.reader], row.text, row.labels)
        found.append(row.labels[reading] if isinstance(reading, int) else None)
        cut = row.said == "truncated" and reading == UNPARSEABLE
        outcomes.append("ok" if isinstance(reading, int) else "truncated" if cut else reading)
    return replies.assign(found=pd.Series(found, replies.index, dtype=object), outcome=outcomes)


def counts(replies: pd.DataFrame) -> dict[str, int]:
    """How many replies there are, and what became of them."""
    outcome = replies["outcome"].value_counts()
    return {"replies": len(replies), **{name: int(outcome.get(name, 0)) for name in ("ok", *UNREAD)}}


def form(text: str) -> str:
    """The form of a reply that was not read, in a few words."""
    body = answer_part(text).strip()
    if not body:
        return "thinking only" if text.strip() else "empty"
    if re.fullmatch(r"[\W\d_]+", body):
        return "digits and marks only"
    short = len(body) <= 12 or (body.isascii() and len(body.split()) <= 3)
    return "a few words" if short else "several lines" if "\n" in body else "one line"


def unread(replies: pd.DataFrame) -> pd.DataFrame:
    """Every reply without an answer, with its ``outcome`` and :func:`form`, the most frequent forms and texts first."""
    rows = replies[replies["outcome"] != "ok"]
    rows = rows.assign(form=rows["text"].map(form))
    often = rows.groupby(["outcome", "form"])["text"].transform("size")
    same = rows.groupby(["outcome", "form", "text"])["text"].transform("size")
    order = pd.DataFrame({"often": -often, "outcome": rows["outcome"], "form": rows["form"], "same": -same})
    return rows.loc[order.sort_values(list(order.columns), kind="stable").index].reset_index(drop=True)


def by_group(replies: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """The share of replies without an answer by group of items, in percent: ``grouped_by``, ``group``, ``items``,
    ``unread_percent``, ``p_value``.

    ``p_value``: Kruskal and Wallis' test that groups do not differ, over the items' own shares, since replies to one item
    depend on each other; the same in each row of a grouping, and missing where there is one group or no difference at all.
    """
    shares = (replies["outcome"] != "ok").groupby(replies["item_id"]).mean().rename("share")
    known = items.merge(shares, left_on="item_id", right_index=True)
    rows = []
    for name in GROUPS:
        if name not in known or known[name].nunique() < 2:
            continue
        samples = [group["share"].to_numpy() for _, group in known.groupby(name)]
        p = kruskal(*samples).pvalue if np.ptp(known["share"]) else np.nan
        for group, part in known.groupby(name, sort=False):
            rows.append((name, group, len(part), 100 * part["share"].mean(), p))
    return pd.DataFrame(rows, columns=["grouped_by", "group", "items", "unread_percent", "p_value"])


def bounds(replies: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """What each answer's share would be if no unread reply gave it and if all did: ``answer``, ``low``, ``share``, ``high``.

    In percent: ``share`` of the replies with an answer, ``low`` and ``high`` of all. An answer is what the letter stands for
    (a sentence, the stereotyped target, "unknown") where requests or items say so, else the label. None for numbers.
    """
    if replies["labels"].str.len().max() > _FEW:
        return pd.DataFrame(columns=["answer", "low", "share", "high"])
    meaning = _meaning(items)
    answers = pd.Series([meaning(row) for row in replies.itertuples()], replies.index, dtype=object)
    named, missing = answers.value_counts(), int(answers.isna().sum())
    return pd.DataFrame(
        [
            (answer, 100 * n / len(replies), 100 * n / named.sum(), 100 * (n + missing) / len(replies))
            for answer, n in named.items()
        ],
        columns=["answer", "low", "share", "high"],
    )


#: Most labels that are answers of their own: more are numbers or a list of subjects.
_FEW = 3


def _meaning(items: pd.DataFrame) -> Callable[[Any], str | None]:
    known = items.set_index("item_id")[["target", "unknown"]] if {"target", "unknown"} <= set(items) else None

    def of(row: Any) -> str | None:
        if row.found is None:
            return None
        order = getattr(row, "order", None)
        if isinstance(order, str):
            return json.loads(order)[row.labels.index(row.found)]
        if order is not None:
            return f"option {order if row.labels.index(row.found) == 0 else 3 - order}"
        if known is not None:
            item = known.loc[row.item_id]
            return {item["unknown"]: "unknown", item["target"]: "target"}.get(row.found, "other")
        return row.found

    return of
