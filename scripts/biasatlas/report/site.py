"""The site: an index, a page for each benchmark and model, and the data behind them, in a folder that opens from
disk."""

import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks import comparison
from biasatlas.benchmarks.comparisons.cards import sentence
from biasatlas.benchmarks.comparisons.declared import METRICS
from biasatlas.benchmarks.comparisons.findings import about_row
from biasatlas.benchmarks.contract import LANGUAGES
from biasatlas.benchmarks.shared.styles import Styles
from biasatlas.files import count_rows, read_csv, read_metadata, write_text
from biasatlas.report.account import cost, data_sets
from biasatlas.report.cells import kept_rows, shown_style
from biasatlas.report.charts import chart
from biasatlas.report.claims import claims_report, failing_first, read_claims
from biasatlas.report.example import asked_for
from biasatlas.report.explorer import Adds, write_task
from biasatlas.report.exports import Said, shortened, write_exports
from biasatlas.report.front import Question, can_speak, front
from biasatlas.report.packing import pack, pack_json, put
from biasatlas.report.pages import HERE, Pages, shown_table
from biasatlas.report.pictures import Pictures
from biasatlas.report.replication import beside_print, read_papers
from biasatlas.report.run import Run, Study, TaskRun, folder_of
from biasatlas.report.text import visible
from biasatlas.report.third_party import write_third_party
from biasatlas.report.verdicts import named
from biasatlas.report.views import Views
from biasatlas.sources import PUBLISHED_DATA
from biasatlas.stats.verdict import spaced, words

#: The folder of all but the index.
PAGES = "pages"
_GRID = ("datatables",)
#: A verdict on a model -> the word for the same verdict on two models.
_DIFFERENCES = {"biased": "differ", "unbiased": "alike"}


class Site:
    """Writes the site of a study below ``folder``."""

    def __init__(self, study: Study, model_styles: Styles, folder: Path):
        self.study, self.model_styles, self.folder = study, model_styles, folder
        self.data = folder / "data"
        self.tables = {
            run.key: {name: read_csv(path, published="str") for name, path in run.tables.items()} for run in study.runs
        }
        self.views = Views(study, model_styles, self.tables)
        self.pictures = Pictures()
        nav = [("numbers", "All numbers"), ("compare", "Compare"), ("items", "Items"), ("data", "Data")]
        nav += [("cost", "Cost"), ("replication", "Published"), ("validity", "Validity")]
        self.pages = Pages(study, nav)

    def write(self, index: Path) -> None:
        """Write everything; the index last, at ``index``."""
        shutil.rmtree(self.folder, ignore_errors=True)
        assets = self.folder / "assets"
        assets.mkdir(parents=True)
        for path in sorted((HERE / "web").iterdir()):
            shutil.copyfile(path, assets / path.name)
        write_third_party(assets)
        (self.folder / "summaries").mkdir()
        for summary in self.study.texts:
            shutil.copyfile(summary, self.folder / "summaries" / Path(summary).name)
        sets = self._write_items()
        for run in self.study.runs:
            self._page(
                run.key,
                "benchmark.html",
                ["cells", "datatables", "tables", "vega", "charts"],
                **self._benchmark(run, sets),
            )
        for model in self.study.models:
            self._page(f"model-{model}", "model.html", [], **self.views.model(model))
        self._page("compare", "compare.html", ["datatables", "tables", "compare"], **self._compare())
        self._page("replication", "replication.html", ["datatables", "tables"], **self._replication())
        self._page("validity", "validity.html", [], **self.views.validity())
        self._page("data", "data.html", [], benchmarks=data_sets(self.study))
        self._page("cost", "cost.html", [], **cost(self.study))
        self._page("items", "items.html", ["datatables", "diff", "items", "grid"])
        self._page("numbers", "numbers.html", ["cells", "datatables", "numbers"], **self.views.numbers())
        write_text(self.pages.index(["front"], (), PAGES, **front(self.views, f"{PAGES}/")), index)

    def _page(self, name: str, template: str, scripts: list[str], **values: Any) -> None:
        styles = _GRID if "datatables" in scripts else ()
        write_text(self.pages.page(template, name, scripts, styles, **values), self.folder / f"{name}.html")

    def _write_items(self) -> list[dict[str, Any]]:
        """Write the data behind every task; return what the explorer has to know first."""
        sets = []
        for run in self.study.runs:
            for asked in run.asked:
                if asked.answers:
                    folder = folder_of(self.data, run, asked.task)
                    sets.append(write_task(run, asked, folder, self.study.ids, self._adding(run, asked)))
        models = [
            {"id": self.study.ids[model]} | shown_style(model, self.model_styles[model]) for model in self.study.models
        ]
        put(self.data, "sets", {"sets": sets, "models": models})
        return sets

    def _adding(self, run: Run, asked: TaskRun) -> list[Adds]:
        """What the items of a task add to each headline that can get a verdict."""
        if run.protocol not in self.study.contributions:
            return []
        table = pd.read_parquet(self.study.contributions[run.protocol])
        table = table[table["benchmark"] == run.name]
        found = []
        for col in filter(can_speak, self.views.every[run.key]):
            parts, category = about_row(col.headline, col.headline.rows)
            metric, part = col.headline.metric, parts[0] if len(parts) == 1 else ""
            mine = table[(table["measure"] == metric) & (table["part"] == part) & (table["category"] == category)]
            if len(mine) and asked in asked_for(run, col.headline, next(iter(col.cells.values()))):
                values = {
                    m: cell.value - (cell.null or 0.0) for m, cell in col.cells.items() if math.isfinite(cell.value)
                }
                kept = kept_rows(run.spec, asked.task, col.headline, col.headline.rows)
                found.append(Adds(col.headline.name, run.spec.metrics[metric].unit, kept, mine, values))
        return found

    def _benchmark(self, run: Run, sets: list[dict[str, Any]]) -> dict[str, Any]:
        sections = []
        for place, col in enumerate(self.views.columns[run.key]):
            metric = run.spec.metrics[col.headline.metric]
            drawn = chart(col, metric, self.study.ids, self.model_styles)
            key, pdf = f"charts/{run.key}-{place}" if drawn else "", ""
            if drawn:
                put(self.data, key, pack_json(drawn))
                pdf = f"figures/{run.key}-{place}.pdf"
                self.pictures.of_chart(drawn, self.folder / pdf)
            parts = [{"name": name} | self.views.shown(run, col, cells) for name, cells in named(col)]
            rows = [self.views.row(model) | {"cells": [part["cells"][model] for part in parts]} for model in col.cells]
            sections.append(self.views.said(run, col) | {"chart": key, "pdf": pdf, "parts": parts, "rows": rows})
        shown = [
            self._table(f"{run.key}.{name}", name, run.spec.tables[name].caption, run.spec.citation, table)
            for name, table in self.tables[run.key].items()
        ]
        mine = self.study.cards_of(run)
        used = {metric for table in self.tables[run.key].values() for metric in table["metric"].unique()}
        metrics = [
            (name, vars(metric) | {"cards": [sentence(c) for c in mine if c["metric"] == name]})
            for name, metric in run.spec.metrics.items()
            if name in used
        ]
        return {
            "run": run,
            "unmeasured": self.views.unmeasured[run.key],
            "language": LANGUAGES[run.spec.language],
            "sets": [s for s in sets if s["run"] == run.key],
            "sections": sections,
            "figures": [self._figure(run, name, path) for name, path in run.figures.items()],
            "tables": shown,
            "metrics": metrics,
        }

    def _figure(self, run: Run, name: str, path: str) -> dict[str, Any]:
        """Write a figure's files; return what the page shows of it, and whether there was ``nothing`` to draw."""
        spec = run.spec.figures[name]
        target = f"figures/{run.key}.{name}"
        self.pictures.of_figure(Path(path), self.folder / target)
        several, named = len(spec.tables) > 1, " and ".join(spec.tables)
        return {
            "nothing": "Nothing to draw: " in Path(path).read_text(encoding="utf-8"),
            "src": f"{target}.svg",
            "caption": spec.caption + (" (sample)" if run.data == "sample" else ""),
            "alt": f"Drawn from the table{'s' * several} {named}, below, with {'their' if several else 'its'} numbers.",
            "exports": [(ending.upper(), f"{target}.{ending}") for ending in ("svg", "pdf", "png")],
        }

    def _table(self, label: str, name: str, caption: str, citation: str, table: pd.DataFrame) -> dict[str, Any]:
        """Write a table's exports and its data for the grid; return what the page shows of it."""
        said = Said(caption, citation, f"Bias Atlas {self.study.version}", label)
        formats = write_exports(table, said, self.folder / "exports")
        table = shortened(table)
        shown = shown_table(table, caption, name, label, formats, f"tables/{label}")
        if shown["key"] and shown["total"] > len(shown["rows"]):
            put(self.data, shown["key"], {"rows": len(table), "columns": pack(table)})
        else:
            shown["key"] = ""
        return shown

    def _compare(self) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        places: dict[tuple[str, ...], int] = {}
        for run in self.study.runs:
            asked = was_asked(run)
            for col in self.views.columns[run.key]:
                cells = {
                    self.study.ids[model]: {
                        "state": cell.said,
                        "value": _finite(cell.value),
                        "low": _finite(cell.low),
                        "high": _finite(cell.high),
                        "asked": asked.get(model, ""),
                        "href": self.views.cell(run, col, model, cell, "")["href"],
                    }
                    for model, cell in col.cells.items()
                }
                question = Question(run, col)
                measured_in, category = about_row(col.headline, col.headline.rows)
                if can_speak(col) and len(measured_in) <= 1:
                    key = (run.name, run.protocol, col.headline.metric, "".join(measured_in), category)
                    places[key] = len(rows)
                rows.append(
                    {"benchmark": run.source, "page": f"{run.key}.html", "run": run.key, "cells": cells}
                    | {"question": col.headline.question, "name": col.headline.name, "metric": col.headline.metric}
                    | {"unit": question.unit, "one": question.one, "topic": question.topic}
                    | {"base": question.base, "shortly": question.shortly}
                    | {"lower": col.headline.ends[0] * all(col.headline.ends)}
                )
        put(self.data, "headlines", rows)
        paired = pd.DataFrame(self._paired(places))
        put(self.data, "paired", {"rows": len(paired), "columns": pack(paired)})
        tables, figures = [], []
        for part in self.study.comparisons:
            label = f"comparison.{part.protocol}.{part.name}"
            if part.kind == "table":
                tables.append(self._table(label, part.name, part.caption, "", read_csv(part.path)))
            else:
                self.pictures.of_figure(Path(part.path), self.folder / "figures" / label)
                figures.append({"caption": part.caption, "protocol": part.protocol, "src": f"figures/{label}"})
        return {
            "models": [(self.study.ids[model], model) for model in self.study.models],
            "tables": tables,
            "figures": figures,
            "metrics": {**comparison.METRICS, **METRICS}.items() if tables else (),
        }

    def _paired(self, places: Mapping[tuple[str, ...], int]) -> list[dict[str, Any]]:
        """Differences of two models on the same items, if the run has a table of them.

        ``places`` are the headlines that can get a verdict: (run, protocol, metric, part, category) -> its place on the
        page.
        """
        ids, rows = self.study.ids, []
        for part in self.study.comparisons:
            if (part.kind, part.name) != ("table", "pairs"):
                continue
            table = read_csv(part.path, unit="str", part="str").fillna({"unit": "", "part": ""})
            keys = list(table.columns[: table.columns.get_loc("metric")])
            flipped = table[table["metric"] == "flipped"].set_index(keys[:6])["value"].to_dict()
            decides = table[table["metric"] == "decides"].set_index(keys[:6])[["ci_low", "ci_high"]].T.to_dict("list")
            for row in table[table["metric"] == "difference"].to_dict("records"):
                key = tuple(row[name] for name in keys[:6])
                about = [visible(str(row[name])) for name in keys[2:6] if not pd.isna(row[name]) and row[name]]
                numbers = {name: _finite(row[name]) for name in ("value", "ci_low", "ci_high")}
                told = {
                    "said": words(row["verdict"], row["smallest"], row["unit"], pair=True)
                    if isinstance(row["verdict"], str)
                    else "",
                    "about": " · ".join(about + [part.protocol] * (part.protocol != "recommended")).replace("_", " "),
                    "n": int(row["n"]),
                    "unit": spaced(str(row["unit"])),
                    "flipped": _finite(flipped.get(key, math.nan)),
                    "state": _DIFFERENCES.get(row["verdict"], row["verdict"])
                    if isinstance(row["verdict"], str)
                    else "",
                    "smallest": _finite(row["smallest"]),
                    **dict(zip(("least", "most"), map(_finite, decides.get(key, (math.nan,) * 2)), strict=True)),
                    "why": row["why"] if isinstance(row["why"], str) else "",
                    "headline": places.get((key[2], part.protocol, *key[3:]), -1),
                }
                rows.append({"a": ids.get(key[0], ""), "b": ids.get(key[1], "")} | numbers | told)
        return rows

    def _replication(self) -> dict[str, Any]:
        report = (
            read_csv(self.study.replication) if self.study.replication else beside_print(self.study.runs, self.tables)
        )
        if "status" in report:
            order = report["status"].astype("string").str.startswith("reproduced").fillna(False)
            report = report.assign(_last=order).sort_values("_last", kind="stable").drop(columns="_last")
        counts = dict(report["status"].value_counts()) if len(report) else {}
        said = ", ".join(f"{n} {'differ' if status == 'differs' and n > 1 else status}" for status, n in counts.items())
        table = self._table(
            "replication", "replication", "Published numbers beside ours", "", report.reset_index(drop=True)
        )
        return {
            "table": table,
            "lead": f"{len(report)} printed number{'s' * (len(report) != 1)}: {said}.",
        } | self._claims()

    def _claims(self) -> dict[str, Any]:
        """The papers' claims on published numbers, on public outputs, and on this run's tables of published data."""
        if self.study.published is None:
            return {}
        runs = [run for run in self.study.runs if run.protocol in run.spec.published_under]
        ours = {
            (run.benchmark, name): table
            for run in runs
            if run.data in PUBLISHED_DATA
            for name, table in self.tables[run.key].items()
        }
        names = {name: entry["published_as"] for name, entry in self.study.models.items() if entry.get("published_as")}
        papers = read_papers(self.study.published, {run.benchmark for run in self.study.runs})
        report = claims_report(read_claims(self.study.published), papers, self.study.published, {}, ours, names)
        if report.empty:
            return {}
        if self.study.claims:
            report["public_outputs"] = read_csv(self.study.claims)["public_outputs"].fillna("")
        report, failing = failing_first(report)
        lead = (
            f"{len(report)} claims: {failing['published']} fail on the published numbers, {failing['public_outputs']} "
            "on public outputs, "
        )
        table = self._table("claims", "claims", "What the papers claim, tested", "", report)
        return {"claims": table, "claims_lead": f"{lead}{failing['this_run']} on this run's tables."}


def was_asked(run: Run) -> dict[str, str]:
    """What each model of a run was sent: the same text of two models, the same requests. In rounds it may be a part."""
    return {
        answered.model: f"{read_metadata(answered.scores).get('requests_sha256', '')} {count_rows(answered.scores)}"
        for task in run.asked
        for answered in task.answers
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
