"""Answers to questions from the logs of other harnesses, joined by what was asked and never by number or place."""

import json
import logging
import re
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.benchmarks.shared.logs import Logged, read_logs
from biasatlas.benchmarks.shared.parsing import REFUSED, UNPARSEABLE
from biasatlas.benchmarks.shared.parsing.choice import parse_refusal
from biasatlas.benchmarks.shared.predictions import MOST_STRANGERS, log_unknown, normal
from biasatlas.errors import UserError
from biasatlas.userfiles import shown

#: Where a prompt's line may begin its question: after a sign such as "Question:", or after a sentence.
_BEGINNING = re.compile(r":\s+|(?<=[.?!。？！])\s*")


def read_log(step: Step) -> pd.DataFrame:
    """A response for each request, from logs that :func:`biasatlas.benchmarks.shared.logs.read_logs` reads.

    A question of a log is the item whose question stands last in the text that was shown, whose context stands last and
    is the longest there, and whose options were offered, in whatever order. Any offered option besides the two persons
    says "unknown". Of a question that was asked several times the probabilities are shares of its answers. An item not
    asked is "failed".

    Raises UserError where more than 5% of the questions are no item's, and for the first answer that the harness
    counts otherwise than the data do.
    """
    items, requests, title = step.items, step.requests, step.description.title
    rows = read_logs(step.files, f"{title}, format log", step.column)
    found, strangers, doubled = _matched(rows, items)
    log_unknown(f"{title}, format log", "questions", [row.where for row in strangers], len(rows))
    read = {
        name: [_label(row, item, step.description.unknown_names) for row in asked]
        for name, (item, asked) in found.items()
    }
    _check_letters(title, rows)
    said = [
        (row, label == item["gold"], item)
        for name, (item, asked) in found.items()
        for row, label in zip(asked, read[name], strict=True)
    ]
    _check_verdicts(title, said)
    judged = [row.right for row, _, _ in said if row.right is not None]
    logging.info(
        "%s: %d questions in the log: %d of %d items, %d there twice, %d of no item; %.4f are right, by the harness %s",
        *(
            title,
            len(rows),
            len(found),
            len(items),
            doubled,
            len(strangers),
            np.mean([right for _, right, _ in said] or [False]),
        ),
        (f"{np.mean(judged):.4f}" if judged else "unknown")
        + (f" of the {len(judged)} that it reads alike" if 0 < len(judged) < len(said) else ""),
    )
    return pd.DataFrame(
        [
            _response(request, read.get(item))
            for request, item in zip(requests["request_id"], requests["item_id"], strict=True)
        ]
    )


def _matched(
    rows: list[Logged], items: pd.DataFrame
) -> tuple[dict[str, tuple[Mapping[str, str], list[Logged]]], list[Logged], int]:
    """Item -> itself and its rows; rows of no item; how many were there twice with the same answer.

    Items with the same words share their rows in their order. Raises UserError for two answers to one question.
    """
    by_question: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for item in items.to_dict("records"):
        words = {name: normal(item[name]) for name in ("context", "question", *LABELS)}
        by_question[words["question"]].append(item | {"words": words})
    alike: dict[tuple[str, ...], list[Mapping]] = {}
    asked: dict[tuple[str, ...], list[Logged]] = defaultdict(list)
    strangers = []
    for row in rows:
        candidates = _candidates(row, by_question)
        if candidates:
            key = tuple(item["item_id"] for item in candidates)
            alike[key] = candidates
            asked[key].append(row)
        else:
            strangers.append(row)
    found: dict[str, tuple[Mapping[str, str], list[Logged]]] = {}
    doubled = 0
    for key, several in asked.items():
        times: dict[str, list[Logged]] = defaultdict(list)
        for row in several:
            times[row.repeat].append(row)
        for again in times.values():
            spare = again[len(alike[key]) :]
            for row in spare:
                if row.answer not in {other.answer for other in again[: len(alike[key])]}:
                    raise UserError(
                        f"{row.where}: the same question as {again[0].where}, with another answer. Keep one."
                    )
            doubled += len(spare)
            for item, row in zip(alike[key], again, strict=False):
                found.setdefault(item["item_id"], (item, []))[1].append(row)
    return found, strangers, doubled


def _candidates(row: Logged, by_question: Mapping[str, list]) -> list:
    """The items that a row may be of, all with the same words."""
    text, offered = normal(row.text), {normal(option) for option in row.options}
    parts = {normal(part) for line in row.text.splitlines() for part in (line, *_tails(line))}
    questions = parts & by_question.keys() or {question for question in by_question if question in text}
    fitting = [
        item
        for question in questions
        for item in by_question[question]
        if item["words"]["context"] in text and _persons(item) <= (offered or _persons(item))
    ]
    if not fitting:
        return []
    best = max(fitting, key=lambda item: _place(item["words"], text))
    same = [item for item in fitting if _asked(item) == _asked(best)]
    # Wordings of "unknown" tell items apart where no others were offered.
    return [item for item in same if _options(item) == offered] or [
        item for item in same if _persons(item) == _persons(best)
    ]


def _place(words: Mapping[str, str], text: str) -> tuple[int, int, int]:
    """The greater, the more an item is what ``text`` asks last, after examples, too; a context may begin another."""
    context = words["context"]
    return text.rfind(words["question"]), text.rfind(context) if context else -1, len(context)


def _asked(item: Mapping) -> tuple[str, str]:
    return item["words"]["context"], item["words"]["question"]


def _options(item: Mapping) -> set[str]:
    return {item["words"][label] for label in LABELS}


def _tails(line: str) -> list[str]:
    return [line[beginning.end() :] for beginning in _BEGINNING.finditer(line)]


def _persons(item: Mapping) -> set[str]:
    return {item["words"][label] for label in LABELS if label != item["unknown"]}


def _label(row: Logged, item: Mapping, unknown_names: list[str]) -> str:
    """The label of the option that a row chose, or why it is none."""
    answer, words = normal(row.answer), item["words"]
    same = [label for label in LABELS if row.answer.strip() == item[label].strip()]
    alike = [label for label in LABELS if answer == words[label]]
    for found in (same, alike):  # options may differ in case alone
        if len(found) == 1:
            return found[0]
    if alike:
        return UNPARSEABLE
    offered = {normal(option) for option in row.options}
    if answer in offered or answer in {normal(name) for name in unknown_names}:
        return item["unknown"]
    return REFUSED if parse_refusal(row.answer) == REFUSED else UNPARSEABLE


def _check_letters(title: str, rows: list[Logged]) -> None:
    """Raise UserError where more answers are letters of nothing than a model may say by accident."""
    bare = [row for row in rows if re.fullmatch(r"\W*[A-Za-z]\W*", row.answer) and row.answer not in row.options]
    if len(bare) > MOST_STRANGERS * len(rows):
        raise UserError(
            f"{bare[0].where}: the answer {shown(bare[0].answer)} is a letter, and the log does not show which option "
            f"of {title} it stands for; so in {len(bare)} of {len(rows)} questions. Log the prompt with its options, "
            "or give the options' texts."
        )


def _check_verdicts(title: str, said: list[tuple[Logged, bool, Mapping]]) -> None:
    differing = [(row, item) for row, right, item in said if row.right is not None and row.right != right]
    if differing:
        row, item = differing[0]
        raise UserError(
            f"{row.where}: the harness counts {shown(row.answer)} as {'right' if row.right else 'wrong'}, and the "
            f"right answer to {item['item_id']} is {item[item['gold']]!r}; so in {len(differing)} of {len(said)} "
            "questions. Take the data that the log is of, or add its wordings of 'unknown' to `unknown_names` of "
            f"{title}."
        )


def _response(request: str, read: list[str] | None) -> dict[str, object]:
    """A choice response: shares of what was ``read`` each time; without any option it is what the first time was."""
    none = {"probabilities": None, "refused": np.nan, "ambiguous": np.nan, "unparseable": np.nan, "unresolved": np.nan}
    row = {"request_id": request, "repeat": 0, "replies": None}
    if not read:
        return row | none | {"status": "failed", "detail": "not in the log"}
    shares = {each: read.count(each) / len(read) for each in (*LABELS, REFUSED, UNPARSEABLE)}
    if shares[REFUSED] == 1:
        return row | none | {"status": "refused", "detail": ""}
    return row | {
        "status": "ok" if any(shares[label] for label in LABELS) else "unparseable",
        "detail": "",
        "probabilities": json.dumps([shares[label] for label in LABELS]),
        "refused": shares[REFUSED],
        "ambiguous": 0.0,
        "unparseable": shares[UNPARSEABLE],
        "unresolved": 0.0,
    }
