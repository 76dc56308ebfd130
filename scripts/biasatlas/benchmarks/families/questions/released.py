"""Answers to a described benchmark's questions, and logs of evaluation harnesses, as choice responses."""

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
from biasatlas.benchmarks.shared.predictions import MOST_STRANGERS, chosen, log_unknown, match_options, normal, one_file
from biasatlas.errors import UserError
from biasatlas.userfiles import listed, read_csv_rows, shown

#: A letter or a digit alone, as `(a)` or `1.`.
_BARE = re.compile(r"[\W_]*([A-Za-z]|\d)[\W_]*")


def read_answers(step: Step) -> pd.DataFrame:
    """A response for each request, from one CSV with ``item`` and ``answer``.

    An answer is the text of an option, whatever its case and spaces, or its letter, in brackets or not; another one is
    "unparseable", an empty one "refused". A letter means the option that the row shows under it in its columns ``A``,
    ``B`` and ``C``; in a file without these columns, the option in that place in the data. An item without a row is
    "failed"; rows of unknown items are logged by id. Raises UserError for an item with several rows, for options that
    are not the item's, for a letter without these columns if the benchmark shuffles its options (the order is not
    known), for only some of these columns, and for numbers, which may count from 0 or from 1.
    """
    items, requests = step.items, step.requests
    path = one_file(step.files, ".csv", f"{step.description.title}, format answers")
    found: dict[str, str] = {}
    numbers: list[str] = []
    options = items.set_index("item_id")[list(LABELS)]
    rows = list(read_csv_rows(path, None))
    header = rows[0][1].keys() if rows else ()
    shown = set(LABELS) <= set(header)
    if not shown and (some := [name for name in header if name.upper() in LABELS]):
        raise UserError(
            f"{path}: it has the columns {listed(some)}. Expected A, B and C with the options as the model saw them, "
            "or none of these."
        )
    # A benchmark whose own code reads its items has no such key: it never shuffles.
    shuffled = getattr(step.description, "shuffle", False)
    for where, row in read_csv_rows(path, ("item", "answer", *(LABELS if shown else ()))):
        if row["item"] in found:
            raise UserError(f"{where}: a second row of item {row['item']!r}. Keep one.")
        answer, texts = row["answer"].strip(), options.loc[row["item"]] if row["item"] in options.index else ()
        bare = _BARE.fullmatch(answer)
        if bare and normal(answer) not in map(normal, texts):
            numbers += [f"{where}: answer {answer!r}"] * bare[1].isdigit()
            answer = bare[1].upper() if bare[1].upper() in LABELS else answer
        if answer in LABELS and shown and row["item"] in options.index:
            _check_options(where, row, pd.Series(texts))
            answer = row[answer]
        elif answer in LABELS and not shown and shuffled:
            raise UserError(
                f"{where}: answer {answer!r} is a letter, and {step.description.title} shows each item's options in "
                "an order of its own. Give the option's text, or add columns A, B and C with the options as the model "
                "saw them."
            )
        found[row["item"]] = answer
    if len(numbers) > MOST_STRANGERS * len(found):
        raise UserError(
            f"{numbers[0]} is a number, which may count from 0 or from 1. Give the option's text or letter."
        )
    log_unknown(path, "items", sorted(found.keys() - set(items["item_id"])), len(found))
    asked = options.loc[requests["item_id"]].set_index(requests.index)
    text = requests["item_id"].map(found)
    labels = match_options(text.fillna(""), asked).fillna(text.where(text.isin(LABELS)))
    cases = [text.isna(), text == "", labels.isna()]
    status = np.select(cases, ["failed", "refused", "unparseable"], "ok")
    return chosen(requests["request_id"], labels, LABELS, status, np.select(cases, ["no row", "", text], ""))


def _check_options(where: str, row: Mapping[str, str], options: pd.Series) -> None:
    """Raise UserError if the options that a row shows are not those of its item."""
    told = pd.Series([row[label] for label in LABELS])
    places = match_options(told, pd.DataFrame([options] * len(LABELS), index=told.index))
    if sorted(places.dropna()) != list(LABELS):
        raise UserError(
            f"{where}: item {row['item']!r} shows the options {list(told)}, the data have {list(options)}. Give both "
            "from the same version of the data."
        )


#: Where the question may begin in a prompt's line: after a label such as "Question:", or after a sentence.
_BEGINNING = re.compile(r":\s+|(?<=[.?!。？！])\s*")


def read_log(step: Step) -> pd.DataFrame:
    """A response for each request, from logs that :func:`biasatlas.benchmarks.shared.logs.read_logs` reads.

    A question of a log is matched to the item whose question is the last in the text that was shown, whose context is
    the last and longest there, and whose options were offered, in any order. Any offered option besides the two persons
    means "unknown". If a question was asked several times, probabilities are shares of its answers. An item that was
    not asked is "failed".

    Raises UserError if more than 5% of the questions are no item's, and for the first answer that is right for the
    harness and wrong by the data, or the other way round.
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
    """Id of an item -> the item and its rows; rows of no item; how many rows repeat another one and its answer.

    Items with the same words share their rows, in order. Raises UserError for two answers to one question.
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
    """The items that a row may be about, all with the same words."""
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
    # The wording of "unknown" distinguishes items if no other wording was offered.
    return [item for item in same if _options(item) == offered] or [
        item for item in same if _persons(item) == _persons(best)
    ]


def _place(words: Mapping[str, str], text: str) -> tuple[int, int, int]:
    """Larger for an item that ``text`` asks later, such as after examples; of contexts that begin alike, the longer."""
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
    """Raise UserError if more answers are letters without an option than a model may give by accident."""
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
    """A choice response with shares of the answers ``read``; without options it is "refused" if all were refused."""
    none = {"probabilities": None, "refused": np.nan, "ambiguous": np.nan, "unparseable": np.nan, "unresolved": np.nan}
    row = {"request_id": request, "repeat": 0, "replies": None}
    if not read:
        return row | none | {"status": "failed", "detail": "not in the log"}
    shares = {each: read.count(each) / len(read) for each in (*LABELS, REFUSED, UNPARSEABLE)}
    said = "ok" if any(shares[label] for label in LABELS) else "refused" if shares[REFUSED] == 1 else "unparseable"
    return row | {
        "status": said,
        "detail": "",
        "probabilities": json.dumps([shares[label] for label in LABELS]),
        "refused": shares[REFUSED],
        "ambiguous": 0.0,
        "unparseable": shares[UNPARSEABLE],
        "unresolved": 0.0,
    }


#: Formats of a user's own predictions.
FORMATS = {"answers": read_answers, "log": read_log}
