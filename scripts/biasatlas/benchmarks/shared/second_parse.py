"""A second parse: a model says what replies answer, those that the parser could not parse and a sample of others.

Its answers have a column beside the parser's, and enter no score. ``replies`` are rows of
:func:`biasatlas.benchmarks.shared.replies.answers`, with columns ``model`` and ``task``.
"""

import json
import math
from collections.abc import Mapping
from zlib import crc32

import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, percentage, row
from biasatlas.benchmarks.shared.parsing import AMBIGUOUS, REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.named import REPLIES, Parser
from biasatlas.benchmarks.shared.parsing.normalise import answer_part
from biasatlas.benchmarks.shared.parsing.options import asked_options, squash
from biasatlas.benchmarks.shared.prompting import CHAT
from biasatlas.columns import NO_REPLY

#: Outcomes of replies that could not be parsed.
UNPARSED = (AMBIGUOUS, UNPARSEABLE, "truncated")
#: Percentage of unparsed replies above which a run offers a second parse.
OFFERED_ABOVE = 5.0
#: How many of a model's parsed replies to a task are parsed again, to see how far the two agree.
SAMPLE = 100
#: Longest answer of the model in tokens: a label.
_MAX_TOKENS = 64
_NONE = (REFUSED, AMBIGUOUS, UNPARSEABLE)
_FAILED = "failed"
_PROMPT = """Somebody was asked a question and replied. Which of these answers does the reply give?

{answers}
- {refused}: it declines to answer
- {ambiguous}: it gives several of them
- {unparseable}: it gives none of them

The reply, between the lines:
--------
{reply}
--------
Do not answer the question yourself. Say only which answer the reply gives, in the words before the colon."""


def parsed_again(replies: pd.DataFrame) -> pd.DataFrame:
    """The ``replies`` that are parsed again: all that could not be parsed, and a sample of those that could.

    The sample depends on the requests' ids alone, so it is the same in every run. Replies of thinking alone are left
    out. ``asked`` is the id of the request to the model that parses.
    """
    known = replies[replies["outcome"].isin(("ok", *UNPARSED))]
    known = known[known["text"].map(lambda text: isinstance(text, str) and bool(answer_part(text).strip()))]
    names = ["/".join(map(str, row)) for row in known[["model", "task", "request_id", "repeat"]].to_numpy()]
    known = known.assign(asked=names, drawn=[crc32(name.encode()) for name in names]).sort_values("drawn")
    parsed = known["outcome"] == "ok"
    sample = known[parsed].groupby(["model", "task"], sort=False).head(SAMPLE)
    return pd.concat([known[~parsed], sample]).sort_index().drop(columns="drawn")


def build_requests(replies: pd.DataFrame) -> pd.DataFrame:
    """A generation at temperature 0 for each of :func:`parsed_again` replies, as REQUEST_COLUMNS."""
    prompts = [
        _prompt(text, labels, shown)
        for text, labels, shown in zip(replies["text"], replies["labels"], replies["options"], strict=True)
    ]
    return replies[["item_id"]].assign(
        request_id=replies["asked"],
        kind="generation",
        messages=[json.dumps([{"role": "user", "content": prompt}], ensure_ascii=False) for prompt in prompts],
        temperature=0.0,
        max_tokens=_MAX_TOKENS,
        repeats=1,
        **CHAT,
    )


def _prompt(text: str, labels: list[str] | None, shown: object) -> str:
    options = asked_options(json.dumps(labels or ["answered"]), shown)
    if len(options) > 30:  # a scale: its ends and its step
        listed = [f"- a number: {', '.join(options.labels[:3])} ... {options.labels[-1]}"]
    else:
        listed = [f"- {each.label}: {each.text}" if each.text else f"- {each.label}" for each in options]
    reply = answer_part(text).strip()
    reply = reply if len(reply) <= 8_000 else f"{reply[:4_000]}\n[...]\n{reply[-4_000:]}"
    none = dict(zip(("refused", "ambiguous", "unparseable"), _NONE, strict=True))
    return _PROMPT.format(answers="\n".join(listed), reply=reply, **none)


def second_parse(replies: pd.DataFrame, said: pd.DataFrame, parsers: Mapping[str, Parser]) -> pd.Series:
    """What each of :func:`parsed_again` replies answers, a label or a status, by the model's responses, ``said``.

    "failed" if the model did not answer; missing if its answer is neither a label nor a status.
    """
    texts = said.set_index("request_id")["text"].reindex(replies["asked"])
    rows = zip(texts, replies["parser"], replies["labels"], replies["options"], strict=True)
    return pd.Series(
        [_said(text, parser, labels, shown, parsers) for text, parser, labels, shown in rows], replies.index
    )


def _said(
    text: object, parser: object, labels: list[str] | None, shown: object, parsers: Mapping[str, Parser]
) -> str | None:
    if not isinstance(text, str):
        return _FAILED
    options = asked_options(json.dumps(labels or ["answered"]), shown)
    name = squash(answer_part(text))
    if name in _NONE or name in options.labels:
        return name
    if not labels or not isinstance(parser, str):
        return None
    answer = parsers[parser].whole(text, options) if parser in parsers else REPLIES[parser](text, options)
    return options.labels[answer] if isinstance(answer, int) else None


def offer(run: str, model: str, task: str, replies: pd.DataFrame) -> str:
    """What to do where more than a few of all ``replies`` of a ``model`` to a ``task`` could not be parsed, else ''."""
    came = replies[~replies["outcome"].isin(NO_REPLY)]
    percent = 100 * came["outcome"].isin(UNPARSED).mean() if len(came) else 0.0
    if percent <= OFFERED_ABOVE:
        return ""
    return (
        f"{model}, {task}: {percent:.1f}% of {len(came)} replies could not be parsed. Set "
        f"`benchmarks.{run}.parse_with` to the name of a model, and it parses these replies too, in a column of its "
        "own (docs/replies.md)."
    )


@metric("second_parse_agreement", "second_parse_kappa", "second_parse_rate")
def agreement_rows(keys: Mapping[str, object], replies: pd.DataFrame) -> list[dict[str, object]]:
    """Rows of the table ``outcomes`` about :func:`parsed_again` replies with their column ``second_parse``.

    ``second_parse_agreement``: percentage of the sampled replies with an answer to which the model gives the same one;
    ``second_parse_kappa``: Cohen's kappa of the two, missing where both give one and the same answer to all;
    ``second_parse_rate``: percentage of those without one to which the model gives any. All over items; a reply that
    the model itself did not answer is in none.
    """
    replies = replies[replies["second_parse"] != _FAILED]
    keys = {**keys, "grouped_by": None, "group": None}
    parsed, second = replies["outcome"] == "ok", replies["second_parse"]
    same = (second == replies["found"]).astype(float)
    any_answer = (second.notna() & ~second.isin(_NONE)).astype(float)
    parts = (("second_parse_agreement", same[parsed]), ("second_parse_rate", any_answer[~parsed]))
    rows = [row(keys, name, percentage(part, replies.loc[part.index, "item_id"])) for name, part in parts if len(part)]
    if parsed.any():
        shares = [each[parsed].fillna("").value_counts(normalize=True) for each in (replies["found"], second)]
        chance = shares[0].mul(shares[1], fill_value=0).sum()
        kappa = (same[parsed].mean() - chance) / (1 - chance) if chance < 1 else math.nan
        counts = Counts(reason="" if chance < 1 else "both give every reply the same answer, as chance would")
        estimate = Estimate(kappa, n=int(parsed.sum()), no_interval_reason="none is computed of a kappa")
        rows.append(row(keys, "second_parse_kappa", estimate, counts))
    return rows


def agreement(model: str, task: str, by: str, rows: list[dict[str, object]]) -> str:
    """:func:`agreement_rows` in words."""
    found = {str(each["metric"]): each for each in rows}
    parts = []
    if each := found.get("second_parse_agreement"):
        kappa = found["second_parse_kappa"]
        chance = f"no kappa: {kappa['reason']}" if kappa["reason"] else f"kappa {kappa['value']:.2f}"
        of = f"{each['n']} sampled replies that were parsed"
        parts.append(f"agrees with the parser on {each['value']:.1f}% of {of} ({chance})")
    if each := found.get("second_parse_rate"):
        parts.append(f"finds an answer in {each['value']:.1f}% of {each['n']} that were not")
    return f"{model}, {task}: parsed again, {by} {' and '.join(parts)}." if parts else ""
