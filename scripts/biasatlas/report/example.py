"""One item behind a finding: the median of those that lean its way, never the largest, with what the model was
shown."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import pandas as pd

from biasatlas.benchmarks.contract import Headline
from biasatlas.files import read_repeated, read_scores
from biasatlas.report.explorer import joined, shown_of
from biasatlas.report.run import Run, TaskRun
from biasatlas.report.tested import about_row
from biasatlas.report.text import visible
from biasatlas.report.verdicts import Cell


def asked_for(run: Run, headline: Headline, cell: Cell) -> list[TaskRun]:
    """The tasks that a cell of ``headline`` is made from: those that it names, else all. Tasks may share their
    items."""
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
            scores = read_scores(answered.scores)
            if shown.key[0] not in scores:
                continue
            rows = scores[(scores[shown.key[0]].astype(str) == cell.item.name) & (scores["status"] == "ok")]
            if rows.empty:
                continue
            row = rows.iloc[:1]
            place = {"set": f"{run.key}.{asked.task}", "a": ids[cell.model]}
            place["row"] = "|".join(str(value) for value in row[list(shown.key)].iloc[0])
            texts = _texts(run, row, shown.parts[0], shown.texts) + _apart(row, shown.parts)
            return {
                "href": f"{here}items.html#{urlencode(place, quote_via=quote)}",
                "texts": texts,
                "language": run.spec.language,
            }
    return None


def _apart(row: pd.DataFrame, parts: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """What ``row`` says of each of several items that it is about: where only their own columns tell them apart."""
    shared = set.intersection(*(set(part.values()) for part in parts))
    own = [name for part in parts for name in part.values() if name not in shared]
    return [(name.replace("_", " "), visible(str(row[name].iloc[0]))) for name in own]


def _texts(run: Run, row: pd.DataFrame, part: Mapping[str, str], names: tuple[str, ...]) -> list[tuple[str, str]]:
    """The texts of the item that ``row`` of scores is about, by what they are."""
    items = read_repeated(run.items, ["item_id"])
    mine = joined(row, list(part.values())).iloc[0]
    found = items[(joined(items, list(part)) == mine).to_numpy()]
    if found.empty:
        return []
    texts = found.iloc[0]
    return [
        (name.replace("_", " "), visible(texts[name]))
        for name in names
        if isinstance(texts.get(name), str) and texts[name]
    ]
