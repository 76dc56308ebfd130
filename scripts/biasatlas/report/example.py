"""One item behind a finding, with what the model was shown: the median of those on its side, never the largest."""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import quote, urlencode

import pandas as pd

from biasatlas.benchmarks.comparisons.findings import about_row
from biasatlas.benchmarks.contract import Headline, ScoreView
from biasatlas.files import read_parquet, read_repeated
from biasatlas.report.explorer import joined, shown_of
from biasatlas.report.run import Run, TaskRun
from biasatlas.report.text import visible
from biasatlas.report.verdicts import Cell


def asked_for(run: Run, headline: Headline, cell: Cell) -> list[TaskRun]:
    """The tasks that a cell of ``headline`` is made from: those that it names, else all. Tasks may share items."""
    parts, _ = about_row(headline, cell.where or {})
    return [asked for asked in run.asked if asked.task in parts] or list(run.asked)


def example(run: Run, headline: Headline, cell: Cell, ids: Mapping[str, str], here: str) -> dict[str, Any] | None:
    """The median item behind ``cell`` for the first page; None where there is none, or its rows are not at hand.

    ``ids`` are models' names in files, ``here`` leads to the folder of the pages.
    """
    if not cell.item.name:
        return None
    for asked in asked_for(run, headline, cell):
        shown = shown_of(run.spec, asked.task)
        for answered in asked.answers:
            if answered.model != cell.model:
                continue
            scores = read_parquet(answered.scores)
            if shown.key[0] not in scores:
                continue
            rows = scores[(scores[shown.key[0]].astype(str) == cell.item.name) & (scores["status"] == "ok")]
            if rows.empty:
                continue
            row = rows.iloc[:1]
            place = {"set": f"{run.key}.{asked.task}", "a": ids[cell.model]}
            place["row"] = "|".join(str(value) for value in row[list(shown.key)].iloc[0])
            chosen = _chosen(run, row, shown)
            # Where a score is that of one text less another, those two.
            names = [name for name in (shown.score, shown.minus) if name in shown.texts]
            texts = _texts(run, row, shown.parts[0], names if len(names) > 1 else shown.texts) + _apart(
                row, shown.parts
            )
            return {
                "href": f"{here}items.html#{urlencode(place, quote_via=quote)}",
                "shares": [share for *_, share in chosen],
                "picked": chosen[0][1] if chosen else ("", ""),
                "texts": compared([text for text, *_ in chosen] or [text for _, text in texts]),
                "language": run.spec.language,
            }
    return None


#: A word, or a character of a script without spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|\W")
#: What stands in a text where the options differ.
_BLANK = "___"
#: Longer texts are shown as they are: comparing them takes seconds.
_MOST_WORDS = 1000


def compared(texts: Sequence[str]) -> list[list[tuple[str, bool]]]:
    """Each text as runs of words, with whether the other text differs there. Long texts, and other than two texts, are
    not compared.

    If two texts differ in a single word, which may occur several times, the second is reduced to that word.
    """
    words = [_WORD.findall(text) for text in texts]
    if len(texts) != 2 or max(map(len, words)) > _MOST_WORDS:
        return [[(text, False)] for text in texts]
    steps = SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes()
    both = [
        [("".join(words[0][start:end]), said != "equal") for said, start, end, _, _ in steps],
        [("".join(words[1][start:end]), said != "equal") for said, _, _, start, end in steps],
    ]
    one, other = ({text.lower() for text, differs in runs if differs} for runs in both)
    if len(one) == len(other) == 1 and "" not in one | other:
        both[1] = [next((text, True) for text, differs in both[1] if differs)]
    return both


def _chosen(run: Run, row: pd.DataFrame, shown: ScoreView) -> list[tuple[str, tuple[str, str], str]]:
    """For each item that ``row`` is about: its text, with a blank where its options differ; what each option has there;
    and how likely the model chooses the first. Empty if this is not known."""
    lines, (mark, filler) = [], shown.blank
    for part, column in zip(shown.parts, shown.chosen, strict=False):
        item = _item(run, row, part)
        if item is None or not isinstance(item.get(filler), str):
            return []
        context, one, two = (visible(_filled(str(item[name]), mark, item[filler])) for name in shown.texts)
        options = compared([one, two])
        first, other = (" … ".join(text for text, differs in runs if differs) for runs in options)
        if not (first and other):  # too long, or one only has extra words
            options, first, other = [[("", True)]], one, two
        text = "".join(_BLANK if differs else words for words, differs in options[0])
        lines.append((f"{context} {text}", (first, other), f"{row[column].iloc[0]:.0%}"))
    return lines


def _filled(text: str, mark: str, words: str) -> str:
    """``text`` with ``words`` for each ``mark``, and X for a name in them; an article inside gets a small letter."""
    words = words.replace("{name}", "X")
    inside = words[:1].lower() + words[1:] if words.startswith(("The ", "A ", "An ")) else words
    return (words + text[len(mark) :] if text.startswith(mark) else text).replace(mark, inside)


def _apart(row: pd.DataFrame, parts: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """(column, value) of the columns of ``row`` that distinguish the several items that it is about."""
    shared = set.intersection(*(set(part.values()) for part in parts))
    own = [name for part in parts for name in part.values() if name not in shared]
    return [(name.replace("_", " "), visible(str(row[name].iloc[0]))) for name in own]


def _texts(run: Run, row: pd.DataFrame, part: Mapping[str, str], names: Sequence[str]) -> list[tuple[str, str]]:
    """(name, text) of each text of the item that ``row`` of scores is about."""
    item = _item(run, row, part)
    texts = {} if item is None else {name: item.get(name) for name in names}
    return [(name.replace("_", " "), visible(text)) for name, text in texts.items() if isinstance(text, str) and text]


def _item(run: Run, row: pd.DataFrame, part: Mapping[str, str]) -> pd.Series | None:
    """The item that ``row`` is about by the columns of ``part``; None where it is not there."""
    items = read_repeated(run.items, ["item_id"])
    found = items[(joined(items, list(part)) == joined(row, list(part.values())).iloc[0]).to_numpy()]
    return None if found.empty else found.iloc[0]
