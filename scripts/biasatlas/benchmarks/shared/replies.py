"""The outcomes of requests and replies: how many could be parsed, which could not, and whether groups differ.

An answer is a reply in words, the exact probabilities of a choice, or a likelihood. :func:`answers` has a row for each;
:func:`outcome_rows` counts them for the table ``outcomes`` that every benchmark has.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, percentage, row
from biasatlas.benchmarks.shared.parsing import REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.named import REPLIES, Parser
from biasatlas.benchmarks.shared.parsing.normalise import answer_part
from biasatlas.benchmarks.shared.parsing.options import Options, asked_options
from biasatlas.columns import MASSES, NO_REPLY, STOPPED

#: Key columns of the table ``outcomes``.
KEYS = ("model", "task", "answers", "grouped_by", "group")
#: Columns of items that may group them.
GROUPS = ("category", "identity", "target_group", "polarity", "condition", "direction")
#: A share of answers that counts as all: groups are compared only if some item has a smaller share.
_ALL = 0.99
#: Control characters except tabs and line ends.
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
#: Columns of :func:`answers`.
_COLUMNS = ["request_id", "item_id", "repeat", "outcome", "share", "detail", "text", "found", "parser"]
_COLUMNS += ["labels", "options"]


def answers(
    requests: pd.DataFrame,
    responses: pd.DataFrame,
    parsers: Mapping[str, Parser],
    parser: str | None = None,
) -> tuple[str, pd.DataFrame]:
    """The kind of answers ("replies", "probabilities" or "likelihoods"), and a row for each answer.

    ``outcome`` is a status; for probabilities the likeliest one, where "truncated" is what was not followed to its end.
    ``share`` is the probability that gives an answer (0 or 1 for a reply), missing where nothing came. ``found`` is the
    label that a reply gives, ``text`` the reply. ``parser`` replaces the parsers that requests name; if a request names
    none, any text that does not decline is an answer. Likelihoods do not need ``requests``.
    """
    if "text" not in responses and "probabilities" not in responses:
        rows = responses[["request_id", "repeat", "status", "detail"]].rename(columns={"status": "outcome"})
        share = rows["outcome"].eq("ok").astype(float).mask(rows["outcome"].isin(NO_REPLY))
        return "likelihoods", rows.assign(share=share).reindex(columns=_COLUMNS)
    columns = [name for name in ("request_id", "item_id", "parser", "labels", "options") if name in requests]
    rows = requests[columns].merge(responses, on="request_id", validate="1:m")
    if "text" in rows:
        return "replies", _read(rows, parsers, parser)
    if rows["replies"].notna().any():
        said = rows.assign(
            reply=[json.loads(replies) if replies else [[None, None]] for replies in _known(rows["replies"])]
        )
        said = said.explode("reply", ignore_index=True)
        said["repeat"] = said.groupby("request_id").cumcount()
        status, text = said["reply"].str[0].fillna(said["status"]), said["reply"].str[1]
        return "replies", _read(said.assign(status=status, text=text), parsers, parser)
    return "probabilities", _likeliest(rows)


def _known(values: pd.Series) -> list[str]:
    return ["" if pd.isna(value) else value for value in values]


def _read(rows: pd.DataFrame, parsers: Mapping[str, Parser], parser: str | None) -> pd.DataFrame:
    """A row per reply. Equal replies are parsed once."""
    shown = _known(rows["options"]) if "options" in rows else [""] * len(rows)
    asked = [
        asked_options(labels, texts) if labels else None
        for labels, texts in zip(_known(rows["labels"]), shown, strict=True)
    ]
    rows = rows.assign(text=_known(rows["text"]), labels=[list(each.labels) if each else None for each in asked])
    known: dict[tuple, tuple[str | None, str]] = {}  # options of equal requests are one object
    found = []
    for text, status, name, options in zip(rows["text"], rows["status"], rows["parser"], asked, strict=True):
        by = (parser or name) if isinstance(name, str) else None
        key = (text, status, by, id(options))
        if key not in known:
            known[key] = _parsed(text, status, options, parsers[by] if by else None)
        found.append(known[key])
    outcome = pd.Series([each[1] for each in found], rows.index, dtype=object)
    share = outcome.eq("ok").astype(float).mask(outcome.isin(NO_REPLY))
    labels = pd.Series([each[0] for each in found], rows.index, dtype=object)
    return rows.assign(found=labels, outcome=outcome, share=share).reindex(columns=_COLUMNS)


def _parsed(text: str, status: str, options: Options | None, parser: Parser | None) -> tuple[str | None, str]:
    """The label that a reply gives, and "ok" or why there is none; "truncated": cut off before any answer."""
    if status in (*NO_REPLY, REFUSED, *STOPPED):
        return None, status
    if not parser or options is None:
        parser, options = None, Options.of(["answered"])
    answer = parser.whole(text, options) if parser else REPLIES["refusal"](text, options)
    if isinstance(answer, int):
        return options.labels[answer], "ok"
    return None, "truncated" if status == "truncated" and answer == UNPARSEABLE else answer


def _likeliest(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per request, with the likeliest outcome by its exact probabilities."""
    silences = rows[list(MASSES)].to_numpy(float)
    asked = rows["probabilities"].notna().to_numpy()
    named = np.full(len(rows), np.nan)
    named[asked] = [sum(json.loads(probabilities)) for probabilities in rows.loc[asked, "probabilities"]]
    names = np.array(["ok", "refused", "ambiguous", "unparseable", "truncated"], dtype=object)
    best = np.nan_to_num(np.column_stack([named, silences])).argmax(axis=1)
    return rows.assign(outcome=np.where(asked, names[best], rows["status"]), share=named).reindex(columns=_COLUMNS)


@metric("read_rate", "read_rate_p_value", "disagreement_rate")
def outcome_rows(keys: Mapping[str, str], found: pd.DataFrame, items: pd.DataFrame) -> list[dict[str, object]]:
    """Rows of the table ``outcomes``: of all answers ``found``, then of groups of items.

    ``read_rate``: percentage of received answers (of their probability) that could be parsed, over items; ``n`` counts
    these, the columns of statuses the others. ``disagreement_rate``: percentage of the requests with several replies
    whose parsed answers are not all the same: for a judge at temperature 0, how often it contradicts itself.
    ``read_rate_p_value``: Kruskal and Wallis' test that groups of items do not differ in the share that could be
    parsed, over one share per item, since replies to one item depend on each other. Only if some item lacks more than a
    percent; missing if no two items differ.
    """
    alone = {"grouped_by": None, "group": None}
    rows = [_rate({**keys, **alone}, found)]
    labelled = found[found["parser"].notna() & ~found["outcome"].isin(NO_REPLY)]
    several = labelled[labelled.duplicated(["request_id"], keep=False)]
    if keys["answers"] == "replies" and len(several):
        answers = several["found"].fillna(several["outcome"]).groupby(several["request_id"]).nunique()
        items_of = several.groupby("request_id")["item_id"].first()
        differ = percentage((answers > 1).astype(float), items_of.reindex(answers.index))
        rows.append(row({**keys, **alone}, "disagreement_rate", differ))
    return rows if keys["answers"] == "likelihoods" else [*rows, *_groups(keys, found, items)]


def _groups(keys: Mapping[str, str], found: pd.DataFrame, items: pd.DataFrame) -> Iterator[dict[str, object]]:
    shares = found.groupby("item_id")["share"].mean().rename("share")
    known = items.merge(shares, left_on="item_id", right_index=True)
    if not (known["share"] < _ALL).any():
        return
    for name in GROUPS:
        if name not in known or known[name].nunique() < 2:
            continue
        of_item = found["item_id"].map(known.set_index("item_id")[name])
        for group, part in found.groupby(of_item, sort=False):
            yield _rate({**keys, "grouped_by": name, "group": group}, part)
        p_value = Estimate(_kruskal(known, name), n=int(known["share"].notna().sum()))
        yield row({**keys, "grouped_by": name, "group": "all"}, "read_rate_p_value", p_value)


def _kruskal(known: pd.DataFrame, name: str) -> float:
    from scipy.stats import kruskal  # most tables of outcomes do not need it

    known = known[known["share"].notna()]
    samples = [group["share"].to_numpy() for _, group in known.groupby(name)]
    return float(kruskal(*samples).pvalue) if len(samples) > 1 and np.ptp(known["share"]) else math.nan


def _rate(keys: Mapping[str, object], found: pd.DataFrame) -> dict[str, object]:
    counts = Counts.of(found.rename(columns={"outcome": "status"}))
    ok = int(found["outcome"].eq("ok").sum())
    if keys["answers"] == "likelihoods":
        rate = Estimate(100 * found["share"].mean(), n=ok, no_interval_reason="no sample")
    else:
        rate = percentage(found["share"], found["item_id"])
        rate = Estimate(rate.value, rate.ci_low, rate.ci_high, ok, rate.n_clusters, rate.no_interval_reason)
    return row(keys, "read_rate", rate, replace(counts, unparsed=100 - rate.value))


def form(text: str) -> str:
    """The form of a reply that could not be parsed, in a few words."""
    body = answer_part(text).strip()
    if not body:
        return "thinking only" if text.strip() else "empty"
    if re.fullmatch(r"[\W\d_]+", body):
        return "digits and marks only"
    short = len(body) <= 12 or (body.isascii() and len(body.split()) <= 3)
    return "a few words" if short else "several lines" if "\n" in body else "one line"


def unparsed(found: pd.DataFrame) -> pd.DataFrame:
    """Replies without an answer: ``outcome``, :func:`form`, ``request_id``, ``repeat``, ``text``; frequent forms first.

    In the text, characters that would steer a terminal or stop a parser of CSV are replaced.
    """
    rows = found[found["text"].notna() & ~found["outcome"].isin(("ok", *NO_REPLY))]
    rows = rows.assign(form=rows["text"].map(form))
    often = rows.groupby(["outcome", "form"])["text"].transform("size")
    same = rows.groupby(["outcome", "form", "text"])["text"].transform("size")
    order = pd.DataFrame({"often": -often, "outcome": rows["outcome"], "form": rows["form"], "same": -same})
    rows = rows.loc[order.sort_values(list(order.columns), kind="stable").index].reset_index(drop=True)
    shown = rows["text"].astype(str).str.replace(_CONTROL, "\ufffd", regex=True)
    return rows.assign(text=shown)[["outcome", "form", "request_id", "repeat", "text"]]


def examples(unparsed: pd.DataFrame, most: int) -> str:
    """For each form of :func:`unparsed` replies, how many there are, and the most frequent texts, up to ``most``."""
    parts = []
    for (outcome, form), rows in unparsed.groupby(["outcome", "form"], sort=False):
        texts = rows["text"].value_counts().head(most)
        lines = [f"{n:>6}  {text[:100]!r}" for text, n in texts.items()]
        parts.append("\n".join([f"{outcome}, {form}: {len(rows)}", *lines]))
    return "\n\n".join(parts)
