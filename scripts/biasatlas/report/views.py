"""What the pages say of a study: headlines, cells, facts, as the templates take them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks.comparisons.cards import Card, in_rounds, sentence, subject
from biasatlas.benchmarks.shared.styles import Styles
from biasatlas.files import read_csv, read_metadata
from biasatlas.report.cells import badge, items_link, shown_cell, shown_column, shown_style
from biasatlas.report.pages import counted, what_model_is
from biasatlas.report.run import Run, Study
from biasatlas.report.text import number
from biasatlas.report.verdicts import Cell, Column, Judging, all_cells, column, measured
from biasatlas.stats.verdict import STATES, spaced

#: Facts about how a model answered, from its responses' metadata, that its page shows.
_FACTS = ("engine", "device", "dtype", "revision", "release", "version")
#: The cell of a model that was not asked.
_BLANK = {"blank": True, "css": "blank", "why": "not measured"}


class Views:
    """The headlines of a study's runs, and what each page says of them."""

    def __init__(self, study: Study, model_styles: Styles, tables: Mapping[str, Mapping[str, pd.DataFrame]]):
        self.study, self._looks, self._tables = study, model_styles, tables
        #: All headlines, by run.
        self.every = {run.key: self._columns(run) for run in study.runs}
        #: Headlines for which some model has a value.
        self.columns = {key: [col for col in columns if measured(col.cells)] for key, columns in self.every.items()}
        #: A sentence on each of the other headlines.
        self.unmeasured = {
            key: [_unmeasured(col) for col in columns if not measured(col.cells)] for key, columns in self.every.items()
        }

    def _columns(self, run: Run) -> list[Column]:
        """The headlines of a run whose tables are there."""
        models = [m for m in self.study.models if any(a.model == m for asked in run.asked for a in asked.answers)]
        models = models or list(self.study.models)
        path = self.study.findings(run.protocol)
        findings = read_csv(path) if path else None
        mine = None if findings is None else findings[findings["benchmark"] == run.name]
        tests = Judging(self.study.cards_of(run), mine)
        return [
            column(
                headline, run.spec.metrics[headline.metric].unit, self._tables[run.key][headline.table], models, tests
            )
            for headline in run.spec.headlines
            if headline.table in self._tables[run.key]
        ]

    def cell(self, run: Run, col: Column, model: str, cell: Cell, here: str) -> dict[str, Any]:
        metric = run.spec.metrics[col.headline.metric]
        link = items_link(run, run.spec, col, cell.where or {}, here) if cell.n else ""
        return shown_cell(cell, col, metric, link and f"{link}&a={self.study.ids[model]}")

    def shown(self, run: Run, col: Column, cells: Mapping[str, Cell]) -> dict[str, Any]:
        """The head of ``cells`` of one headline's row, or of one of its parts, and each model's cell."""
        shown = {model: self.cell(run, col, model, cell, "") for model, cell in cells.items()}
        metric = run.spec.metrics[col.headline.metric]
        return {"head": shown_column(col, metric, self.items(run, col, cells, ""), shown), "cells": shown}

    def items(self, run: Run, col: Column, cells: Mapping[str, Cell], here: str) -> str:
        """A link, still without a model, to the items behind ``cells`` of one row; empty if none has any."""
        where = next((cell.where for cell in cells.values() if cell.n), None)
        return "" if where is None else items_link(run, run.spec, col, where, here)

    def said(self, run: Run, col: Column) -> dict[str, Any]:
        """A headline in words."""
        metric, known = run.spec.metrics[col.headline.metric], col.null is not None
        unit = spaced(metric.unit)
        return {
            "name": col.headline.name,
            "question": col.headline.question,
            "metric": col.headline.metric.replace("_", " "),
            "direction": metric.direction,
            "unit": metric.unit,
            "null": number(col.null) + unit if known else "",
            "smallest": f"±{number(col.headline.smallest)}{unit}" if known else "",
            "reason": col.reason,
            "badge": badge(col, run.data, run.spec.note),
        }

    def row(self, model: str) -> dict[str, Any]:
        return {
            "id": self.study.ids[model],
            "look": shown_style(model, self._looks[model]),
            "page": f"model-{model}.html",
        }

    def numbers(self) -> dict[str, Any]:
        """The page of all numbers: models by headlines."""
        groups: list[dict[str, Any]] = []
        left_out: list[str] = []
        for run in self.study.runs:
            note = " · ".join(filter(None, [run.protocol if run.protocol != "recommended" else "", _short(run.data)]))
            said = [self.said(run, col) | self.shown(run, col, col.cells) for col in self.columns[run.key]]
            group = {"key": run.key, "title": run.title, "note": note, "columns": said}
            groups += [group] if said else []
            left_out += [f"{run.source}: {sentence}" for sentence in self.unmeasured[run.key]] + list(run.left_out)
        all_columns = [each for group in groups for each in group["columns"]]
        rows = [
            self.row(model) | {"cells": [each["cells"].get(model, _BLANK) for each in all_columns]}
            for model in self.study.models
        ]
        columns = [col for several in self.columns.values() for col in several]
        count, runs = len(self.study.models), len({run.name for run in self.study.runs})
        samples = len({run.name for run in self.study.runs if run.data == "sample"})
        lead = (
            f"{count} model{'s' * (count != 1)} on {runs} benchmark{'s' * (runs != 1)}"
            f"{f' ({samples} on a sample)' if samples else ''}: {counted(all_cells(columns))}. "
            f"Measured with Bias Atlas {self.study.version}, written on {self.study.date}."
        )
        return {
            "sentence": lead,
            "groups": groups,
            "rows": rows,
            "states": STATES,
            "left_out": list(dict.fromkeys(left_out)),
        }

    def model(self, model: str) -> dict[str, Any]:
        results, cells = [], []
        asked: list[dict[str, Any]] = []
        for run in self.study.runs:
            for col in self.columns[run.key]:
                cell = col.cells.get(model)
                if cell is None:
                    continue
                cells.append(cell)
                title = run.title + ("" if run.protocol == "recommended" else f" · {run.protocol}")
                shown = self.cell(run, col, model, cell, "")
                if shown["blank"]:
                    shown |= {"raw": "", "n": ""}
                results.append({"benchmark": title, "page": f"{run.key}.html", "cell": shown} | self.said(run, col))
            for task in run.asked:
                for answered in task.answers:
                    if answered.model == model:
                        facts = read_metadata(answered.scores)["model"]
                        asked.append(
                            {
                                "benchmark": run.title,
                                "protocol": run.protocol,
                                "task": task.task,
                                "set": f"{run.key}.{task.task}",
                                "facts": {name: facts.get(name, "") or "" for name in _FACTS},
                            }
                        )
        used = [name for name in _FACTS if any(row["facts"][name] for row in asked)]
        entry = self.study.models[model]
        summaries = [path for path in self.study.texts if Path(path).stem == model]
        return self.row(model) | {
            "kind": entry["kind"],
            "what": what_model_is(entry),
            "counts": f"Headline verdicts: {counted(cells)}.",
            "results": results,
            "asked": asked,
            "asked_columns": used,
            "summaries": [Path(path).name for path in summaries],
            "summary": next((Path(path).read_text(encoding="utf-8") for path in summaries if path.endswith(".md")), ""),
        }

    def validity(self) -> dict[str, Any]:
        shown = []
        for run in self.study.runs:
            mine = self.study.cards_of(run)
            columns = [self.said(run, col) | {"card": _card_words(col.cards)} for col in self.columns[run.key]]
            title = run.title + f" · {run.protocol}"
            others = [f"{card['metric']}, {sentence(card)}" for card in mine]
            if run.in_rounds and not any(map(in_rounds, mine)):
                others.append("Asking in rounds was not tried on models whose bias is known.")
            shown += (
                [{"key": run.key, "title": title, "columns": columns, "others": others}] if columns or others else []
            )
        return {"benchmarks": shown}


def _card_words(cards: Sequence[Card]) -> dict[str, str]:
    """What cards say, in a few words each; where several differ, with what each is about. Without cards: "not
    measured"."""
    if not cards:
        return dict.fromkeys(("smallest", "called", "alarms", "coverage", "mistakes"), "not measured")

    subjects = [subject(card) for card in cards]

    def named(card: Card) -> str:
        study = f" ({card['study'].replace('_', ' ')})" if subjects.count(subject(card)) > 1 else ""
        return subject(card) + study

    def each(words: Callable[[Card], str]) -> str:
        said = {named(card): words(card) for card in cards}
        if len(set(said.values())) == 1:
            return next(iter(said.values()))
        return "; ".join(f"{of}: {text}" for of, text in said.items())

    def number_or(card: Card, name: str, text: str, without: str) -> str:
        return text.format(card[name], seeds=card["seeds"]) if number(card[name]) else without

    return {
        "smallest": each(lambda c: number_or(c, "smallest_value", "{:.3g} with 80% power", "not known")),
        "called": each(lambda c: number_or(c, "claimed", "at most {:.0%} (of {seeds} per nuisance)", "not measured")),
        "alarms": each(lambda c: number_or(c, "false_alarms", "at most {:.0%}", "not measured")),
        "coverage": each(lambda c: number_or(c, "coverage", "{:.0%} of intervals contain the truth", "not measured")),
        "mistakes": each(
            lambda c: c["mistakes"].replace("_", " ") if isinstance(c["mistakes"], str) else "nothing that was tried"
        ),
    }


def _unmeasured(col: Column) -> str:
    whys = dict.fromkeys(cell.why for cell in col.cells.values())
    return f"{col.headline.name} has no value for any model ({'; '.join(whys)})."


def _short(data: str) -> str:
    return {"full": ""}.get(data, "own data" if "/" in data else data.replace("_", " "))
