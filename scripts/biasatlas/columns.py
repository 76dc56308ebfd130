"""Columns of the workflow's files, declared once; files are checked against them where they are written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Type = Literal["string", "float", "integer", "boolean"]

#: Column -> type; a missing value is null.
Columns = Mapping[str, Type]


@dataclass(frozen=True)
class Factor:
    """One way in which items, or answers to them, are alike: part of a benchmark's design.

    ``scores`` are the columns of scores that together name its level; a task whose scores lack one does not vary in it.
    ``items`` are its columns of items; it has none if it comes with the requests (a prompt, a draw). It is nested in
    the factor ``within``, or crossed with the others. ``sampled``: its levels are a sample over which a claim
    generalises, so they are the clusters of intervals; if not, the claim is about the levels at hand. ``whole``: the
    items of a level are compared with each other, so that a part of the items has all of them or none.
    """

    scores: tuple[str, ...]
    items: tuple[str, ...] = ()
    within: str = ""
    sampled: bool = False
    whole: bool = False


#: Columns that every item has; a benchmark declares the others.
ITEM_KEYS: Columns = {"item_id": "string"}

#: Columns in front of every score row: whose answer was scored.
SCORE_KEYS = ("model", "task", "category")

#: Columns that every request has; a benchmark may add key columns of its own (a prompt type, a role).
#: ``messages`` is a JSON list of {"role", "content"}, rendered through ``template``: "tokenizer", or the name of one of
#: the literal templates in the model's entry. ``prefix`` is raw text after the rendered messages (or alone).
#: ``special_tokens``: "once" (the begin token exactly once), "tokenizer" (whatever the tokenizer adds) or "none".
#: ``boundary`` between prefix and continuation: "offsets", "prefix_length" or "separate".
#: ``labels`` is a JSON list; ``options`` is what the prompt showed for each of them, a text or a list of it and other
#: names (JSON; missing: only the labels). ``parser`` is a name in :mod:`biasatlas.benchmarks.shared.parsing`. Sampling
#: settings are all explicit.
REQUEST_COLUMNS: Columns = {
    "request_id": "string",
    "item_id": "string",
    "kind": "string",
    "messages": "string",
    "prefix": "string",
    "continuation": "string",
    "template": "string",
    "special_tokens": "string",
    "boundary": "string",
    "labels": "string",
    "options": "string",
    "parser": "string",
    "temperature": "float",
    "top_p": "float",
    "top_k": "integer",
    "repetition_penalty": "float",
    "frequency_penalty": "float",
    "max_tokens": "integer",
    "repeats": "integer",
}

#: Probability of what is no answer: a refusal, several answers, an unparseable reply, mass that was not expanded.
MASSES = ("refused", "ambiguous", "unparseable", "unresolved")

#: A column of scores may have two more versions, with these suffixes: its value if all missing answers to the item
#: (unparsed, or failed) were counter-stereotypical, and if they were stereotypical. If none is missing, both equal the
#: column.
CASES = ("_lower_bound", "_upper_bound")

#: The outcome of a request, and of the score that is made from it; only "ok" has a value. "refused": the model
#: declines; "filtered": its service stops the request or the reply; "thought": it thinks until it has no tokens left.
STATUSES = ("ok", "ambiguous", "unparseable", "refused", "filtered", "thought", "truncated", "not_applicable", "failed")

#: Status that says nothing about what the answer would have been -> the column of MASSES in which it counts.
STOPPED = {"filtered": "refused", "thought": "unparseable"}

#: Statuses without a value, in the order of a table's columns.
NO_VALUE = ("refused", "filtered", "thought", "ambiguous", "unparseable", "truncated", "failed", "not_applicable")

#: Statuses without any reply.
NO_REPLY = ("not_applicable", "failed")

_RESPONSE_KEYS: Columns = {"request_id": "string", "repeat": "integer", "status": "string", "detail": "string"}

#: Columns of a response, by kind of request. ``log_likelihood`` is the sum over the continuation's ``tokens`` in nats,
#: ``nll_per_token`` its negative mean; published outputs may hold only one of them (missing is null).
#: ``probabilities`` is a JSON list, one for each of the request's labels; with ``refused``, ``ambiguous`` (several
#: answers), ``unparseable`` and ``unresolved`` (the mass that was not expanded) it adds to 1. ``replies`` is a JSON
#: list of what was sampled, [status, text] each; null where probabilities were not sampled.
RESPONSE_COLUMNS: Mapping[str, Columns] = {
    "likelihood": {**_RESPONSE_KEYS, "log_likelihood": "float", "tokens": "integer", "nll_per_token": "float"},
    "choice": {
        **_RESPONSE_KEYS,
        "probabilities": "string",
        "refused": "float",
        "ambiguous": "float",
        "unparseable": "float",
        "unresolved": "float",
        "replies": "string",
    },
    "generation": {
        **_RESPONSE_KEYS,
        "text": "string",
        "finish_reason": "string",
        "prompt_tokens": "integer",
        "completion_tokens": "integer",
    },
}

#: Columns that end every table; key columns (model, target group, prompt type ...) come before them. ``n`` counts the
#: units behind ``value``; ``of`` counts all items, if a model was asked only a part; ``n_clusters`` counts the clusters
#: (0 if nothing is sampled); ``no_interval_reason`` says why an estimate has no interval, and is null elsewhere.
#: ``unparsed`` is the percentage of the replies on those units that gave no answer; ``lower_bound`` and ``upper_bound``
#: are ``value`` with missing answers filled in (:data:`CASES`), and missing if that changes nothing. ``refused`` to
#: ``not_applicable`` count the units without a value; ``reason`` says in words why most of them have none, if more is
#: known than the status.
TABLE_COLUMNS = (
    "metric",
    "value",
    "ci_low",
    "ci_high",
    "n",
    "of",
    "n_clusters",
    "no_interval_reason",
    "unparsed",
    "lower_bound",
    "upper_bound",
    *NO_VALUE,
    "reason",
    "published",
    "difference",
)
