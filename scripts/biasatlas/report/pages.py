"""The pages as HTML; everything that models or data wrote is escaped."""

import base64
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader

from biasatlas.report.run import Study
from biasatlas.report.text import number, visible
from biasatlas.report.verdicts import Cell
from biasatlas.stats.verdict import STATES

HERE = Path(__file__).parent
#: Rows of a table that stand in the page itself.
ROWS_SHOWN = 10


class Pages:
    """The templates, with what is the same on every page."""

    def __init__(self, study: Study, nav: Sequence[tuple[str, str]]):
        self._study, self._nav = study, nav
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda value: visible(value) if type(value) is str else value,
        )
        self._templates.filters["num"] = number

    def page(
        self, template: str, current: str, scripts: Iterable[str] = (), styles: Iterable[str] = (), **values: Any
    ) -> str:
        """A page among the others: ``current`` is its name in links."""
        return self._render(template, current, here="", home="../index.html", scripts=scripts, styles=styles, **values)

    def index(self, scripts: Iterable[str], styles: Iterable[str], folder: str, **values: Any) -> str:
        """The first page, one folder above the others. It holds its style, so that it can be read by itself."""
        style = (HERE / "web" / "atlas.css").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        return self._render(
            *("index.html", "index"),
            here=f"{folder}/",
            home="index.html",
            scripts=scripts,
            styles=styles,
            style=style,
            style_hash=f" 'sha256-{digest}'",
            **values,
        )

    def _render(self, template: str, current: str, **values: Any) -> str:
        made = self._templates.get_template(template).render(
            current=current,
            study=self._study,
            nav=self._nav,
            protocols=len({run.protocol for run in self._study.runs}),
            **values,
        )
        return made if made.endswith("\n") else made + "\n"


def shown_table(
    table: pd.DataFrame, caption: str, name: str, label: str, formats: Mapping[str, str], key: str
) -> dict[str, Any]:
    """A table for the template: its columns, the first rows, and where its files and data are."""
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes]
    rows = table.head(ROWS_SHOWN).itertuples(index=False)
    return {
        "name": name,
        "caption": caption,
        "columns": list(zip(map(str, table.columns), numeric, strict=True)),
        "rows": [[(number(value), is_number) for value, is_number in zip(row, numeric, strict=True)] for row in rows],
        "total": len(table),
        "files": f"exports/{label}",
        "exports": list(formats.items()),
        "key": key if len(table) > 1 else "",
    }


def counted(cells: Iterable[Cell]) -> str:
    """How many cells are in each state, in words."""
    counts = Counter(cell.state for cell in cells if math.isfinite(cell.value))
    said = [f"{counts[state]} {state}" for state in STATES if counts[state]]
    return ", ".join(said) or "nothing measured"


def what_model_is(entry: Mapping[str, Any]) -> str:
    """A configuration's entry in a sentence."""
    if entry["kind"] == "planted":
        return f"Trained here; odds of a stereotype {number(entry['odds_ratio'])} : 1, seed {entry['seed']}."
    if entry["kind"] == "simulated":
        return f"Answers by a stated formula; bias {number(entry['bias'])} in log odds, seed {entry['seed']}."
    if entry["kind"] == "released":
        if entry.get("release"):
            return f"Outputs published by the authors of {entry['benchmark']}: {entry['release']}."
        return f"Outputs in {entry['path']}."
    return f"{entry.get('source') or entry.get('model')}" + (
        f" at {entry['revision']}." if entry.get("revision") else "."
    )
