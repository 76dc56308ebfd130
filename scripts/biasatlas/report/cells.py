"""Cells of a matrix as the templates show them: words, numbers on three scales, a strip, a link to the items."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from biasatlas.benchmarks.comparisons.cards import CHANGED
from biasatlas.benchmarks.comparisons.findings import WHOLE
from biasatlas.benchmarks.contract import Headline, Metric, Spec
from biasatlas.benchmarks.shared.styles import Style
from biasatlas.report.run import Run
from biasatlas.report.text import number, visible
from biasatlas.report.verdicts import Cell, Column
from biasatlas.stats.verdict import spaced

#: Smaller unparsed shares are not shown.
_FEW = 0.005
#: Okabe and Ito's black cannot be seen on black; both themes show this instead.
GREY = "#7d8590"
#: A marker, as the outline of an SVG of 12 by 12.
_SHAPES = {
    "o": "M6 1a5 5 0 1 0 .01 0z",
    "s": "M1.5 1.5h9v9h-9z",
    "^": "M6 1l5 9.5h-10z",
    "D": "M6 .5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
}


def shown_style(model: str, style: Style) -> dict[str, str]:
    """How a model's name is shown: its colour and marker before it. Black, which the dark theme hides, is grey."""
    colour = GREY if style.colour == "#000000" else style.colour
    return {"name": model, "colour": colour, "path": _SHAPES[style.marker]}


def shown_cell(cell: Cell, column: Column, metric: Metric, href: str) -> dict[str, Any]:
    """``cell`` for a template; ``href`` leads to its items, '' where there are none."""
    decimals = _decimals(column)
    value, low, high = (_fixed(one, decimals) for one in (cell.value, cell.low, cell.high))
    why = cell.why
    if math.isfinite(cell.findable):
        why += f"; {number(cell.findable)}{spaced(metric.unit)} was detectable by itself with 80% power"
    return {
        "state": cell.state,
        "blank": math.isnan(cell.value),
        "said": cell.said,
        "css": ("blank" if math.isnan(cell.value) else cell.state) + (" down" if cell.effect < 0 else ""),
        "down": cell.effect < 0,
        "raw": value,
        "ends": [low, high] if math.isfinite(cell.low) else ["", ""],
        "scales": [_signed(cell.effect), _signed(cell.errors)],
        "unparsed": _percent(cell.unparsed) if cell.unparsed >= _FEW else "",
        "why": why,
        "interval": f"[{low}, {high}]" if math.isfinite(cell.low) else "",
        "n": cell.n,
        # Those of a benchmark with placebos are the placebos.
        "n_clusters": "" if column.headline.own_null else cell.n_clusters or "",
        "published": cell.published,
        "href": href,
    }


def shown_column(column: Column, metric: Metric, to: str, cells: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """The head of a column: what its shown ``cells`` share. What is left of each cell goes into the cell's ``is``.

    ``is`` is the interval's ends, n, independent sets, unparsed share, effect, standard errors, the printed number and
    the place of its reason in ``why``, with | between them (web/cells.js). ``to`` is a link to the items that still
    lacks the model; ``null`` and ``smallest`` are the middle and the unit of the strips.
    """
    why = list(dict.fromkeys(cell["why"] for cell in cells.values() if cell["why"] != column.reason))
    for cell in cells.values():
        parts = [*cell["ends"], cell["n"], cell["n_clusters"], cell["unparsed"], *cell["scales"]]
        told = why.index(cell["why"]) if cell["why"] in why else ""
        cell["is"] = visible("|".join(map(str, [*parts, cell["published"].replace("|", "/"), told]))).rstrip("|")
    said = next((cell["said"] for cell in cells.values() if cell["state"] == "biased"), "")
    head = {
        "to": to,
        "said": said,
        "unit": spaced(metric.unit),
        "why": "|".join(each.replace("|", "/") for each in why),
    }
    if column.null is None:
        return head
    return head | {"null": f"{column.null:g}", "smallest": f"{column.headline.smallest:g}"}


def items_link(run: Run, spec: Spec, column: Column, where: Mapping[str, str], here: str) -> str:
    """A link to the items behind a row whose keys are ``where``: the task, and the headline or the keys that select
    items. The caller appends ``&a=`` and a model's id. Empty if there are none."""
    tasks = [asked.task for asked in run.asked]
    of_table = [task for task in spec.tables[column.headline.table].tasks if task in tasks]
    task = where.get("task", "")
    if task not in tasks:
        task = of_table[0] if of_table else ""
    if not task:
        return ""
    parts = {"set": f"{run.key}.{task}"}
    if column.null is not None and where == column.headline.rows:
        parts["of"] = column.headline.name  # the page orders its items by what they add
    else:
        parts |= {f"f.{key}": value for key, value in kept_rows(spec, task, column.headline, where).items()}
    return f"{here}items.html#" + "&".join(f"{quote(key)}={quote(value)}" for key, value in parts.items())


def kept_rows(spec: Spec, task: str, headline: Headline, where: Mapping[str, str]) -> dict[str, str]:
    """Column of a task's scores -> its value in the rows behind the cell of ``headline`` with the keys ``where``."""
    scored = ("category", *spec.tasks[task].scores)
    named = {headline.columns.get(key, key): value for key, value in where.items()}
    return {key: value for key, value in named.items() if key in scored and value not in WHOLE}


def badge(column: Column, data: str, note: str) -> dict[str, str]:
    """What is known of a headline's metric, in a word or two, from the run's ``data`` and the benchmark's ``note``."""
    if column.headline.null is None:
        return {"css": "none", "text": "no neutral value is known"}
    if column.headline.closed_by:
        return {"css": "descriptive", "text": "descriptive: a known confounder"}
    if column.headline.own_null:
        few = {"css": "none", "text": "too few placebos for a verdict"}
        return few if note else {"css": "passed", "text": "compared with placebos of this run"}
    if not column.cards:
        return {"css": "none", "text": "not measured in simulations"}
    reasons = {str(card["reason"]) for card in column.cards if card["verdict"] == "inconclusive"}
    elsewhere = "under another protocol" if any("under the protocol" in each for each in reasons) else "on few models"
    words = {
        "descriptive": "descriptive",
        "inconclusive": f"measured {'before its data changed' if CHANGED in reasons else elsewhere}",
        "passed": "passed in simulations",
    }
    others = {card["data"] for card in column.cards} - {data}
    on = {"full": ", on the full data", "sample": ", on the sample"}.get(next(iter(others), ""), "")
    return {"css": column.verdict, "text": words[column.verdict] + on}


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return (text.lstrip("-") if not text.strip("-0.") else text).replace("-", "−")


def _decimals(column: Column) -> int:
    """Decimals of a column: to a tenth of the smallest effect that matters, or else to 1/300 of the largest value."""
    values = [abs(cell.value) for cell in column.cells.values() if math.isfinite(cell.value)]
    least = column.headline.smallest or max(values, default=1) / 30
    return max(0, 1 - math.floor(math.log10(least))) if least > 0 else 1


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.1f}".replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
