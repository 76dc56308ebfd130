"""The report: one page that needs no network, with every table and figure and what each number means."""

import base64
import math
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader

from biasatlas.files import read_csv
from biasatlas.benchmarks.contract import LANGUAGES

#: Rows of a table that the page shows; the file holds them all.
ROWS_SHOWN = 60


def page(runs: list[dict], models: dict[str, dict], comparisons: list[str], paid: dict[str, list[dict]]) -> str:
    """The page as HTML; everything that models or data wrote is escaped.

    Each of ``runs`` has ``benchmark``, ``protocol``, ``data`` ("full" or "sample"), ``left_out`` (sentences on tasks that
    were not run), and the paths of its ``tables`` and ``figures`` by name. ``models`` are the configuration's entries by name,
    ``comparisons`` the paths of tables (.csv) and figures (.svg) across benchmarks, ``paid`` the metadata of an endpoint's responses by model.
    """
    environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    environment.filters["cell"] = cell
    return environment.get_template("page.html").render(
        sections=[_section(run) for run in runs],
        languages=LANGUAGES,
        models=models,
        comparisons=[(*Path(path).parts[-2:], _shown(read_csv(path))) for path in comparisons if path.endswith(".csv")],
        matches=[(Path(path).parts[-2], _data_uri(path)) for path in comparisons if path.endswith(".svg")],
        spent=[_spent(model, answers) for model, answers in paid.items()],
        demo=any(run["data"] == "sample" for run in runs) or all(m["kind"] == "planted" for m in models.values()),
    )


def cell(value: object) -> str:
    """A table cell: four significant digits, an empty cell for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}"
    return str(value)


def _spent(model: str, answers: list[dict]) -> dict:
    """What an endpoint's answers cost, in its currency, and how many calls and tokens they were."""
    counts = ("calls", "failed", "prompt_tokens", "completion_tokens", "cost")
    return {name: sum(answer[name] for answer in answers) for name in counts} | {
        "model": model,
        "currency": answers[0]["currency"],
    }


def _section(run: dict) -> dict:
    spec = import_module(f"biasatlas.benchmarks.{run['benchmark']}").SPEC
    tables = {name: read_csv(path) for name, path in run["tables"].items()}
    used = {metric for table in tables.values() if "metric" in table for metric in table["metric"].unique()}
    return {
        **run,
        "spec": spec,
        "metrics": {name: asdict(metric) for name, metric in spec.metrics.items() if name in used},
        "figures": [(spec.figures[name].caption, _data_uri(path)) for name, path in run["figures"].items()],
        "tables": [(name, spec.tables[name].caption, _shown(table)) for name, table in tables.items()],
    }


def _shown(table: pd.DataFrame) -> dict:
    """Columns with something in them, the first rows, and how many rows there are."""
    table = table.dropna(axis="columns", how="all")
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes]
    return {
        "columns": list(zip(table.columns, numeric, strict=True)),
        "rows": [list(zip(row, numeric, strict=True)) for row in table.head(ROWS_SHOWN).itertuples(index=False)],
        "total": len(table),
    }


def _data_uri(path: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(Path(path).read_bytes()).decode()
