"""Cells of a matrix as the templates show them: words, numbers on three scales, a strip, a link to the items."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from biasatlas.benchmarks.comparisons.cards import CHANGED
from biasatlas.benchmarks.contract import Headline, Metric, Spec
from biasatlas.benchmarks.shared.styles import Style
from biasatlas.report.run import Run
from biasatlas.report.tested import WHOLE
from biasatlas.report.text import number, visible
from biasatlas.report.verdicts import Cell, Column

#: A strip is 100 wide, from -5 to 5 smallest effects.
_STRIP, _SPAN = 100, 5
#: Shares below this are not worth a word.
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
    unit = f" {metric.unit}" if metric.unit and len(metric.unit) > 1 else metric.unit
    decimals = _decimals(column)
    value, low, high = (_fixed(one, decimals) for one in (cell.value, cell.low, cell.high))
    interval = f"[{low}, {high}]" if math.isfinite(cell.low) else ""
    said = [cell.said if cell.state == "biased" else "", interval and f"95%: {low} to {high}{unit}"]
    said.append(f"n {cell.n}" + (f" in {cell.n_clusters} independent sets" if cell.n_clusters > 1 else ""))
    if cell.unparsed >= _FEW:
        said.append(f"{_percent(cell.unparsed)} refused or unparsed")
    if cell.published:
        said.append(f"printed {cell.published}")
    why = cell.why
    if math.isfinite(cell.findable):
        why += f"; {number(cell.findable)}{unit} would have been found four times in five"
    return {
        "state": cell.state,
        "blank": math.isnan(cell.value),
        "said": cell.said,
        "css": ("blank" if math.isnan(cell.value) else cell.state) + (" down" if cell.effect < 0 else ""),
        "down": cell.effect < 0,
        "raw": value,
        "effect": _signed(cell.effect),
        "errors": _signed(cell.errors),
        "order": "" if math.isnan(cell.value) else f"{cell.effect if math.isfinite(cell.effect) else cell.value:.4g}",
        # A dot without an interval shows nothing that its number does not.
        "strip": _strip(cell, column) if math.isfinite(cell.low) or cell.state != "untestable" else None,
        "unparsed": _percent(cell.unparsed) if cell.unparsed >= _FEW else "",
        "title": visible("; ".join(filter(None, [*said, why if why != column.reason else ""]))),
        "why": why,
        "interval": interval,
        "n": cell.n,
        "n_clusters": cell.n_clusters or "",
        "published": cell.published,
        "href": href,
    }


def items_link(run: Run, spec: Spec, column: Column, cell: Cell, here: str, model: str) -> str:
    """A link to the items behind a cell: the task, the model, and those of the row's keys that tell items apart."""
    tasks = [asked.task for asked in run.asked]
    where = dict(cell.where or {})
    of_table = [task for task in spec.tables[column.headline.table].tasks if task in tasks]
    task = where.get("task", "")
    if task not in tasks:
        task = of_table[0] if of_table else ""
    if not task:
        return ""
    parts = {"set": f"{run.key}.{task}", "a": model}
    if column.null is not None and where == dict(column.headline.rows):
        parts["of"] = column.headline.name  # its items in the order of what they add
    else:
        parts |= {f"f.{key}": value for key, value in kept_rows(spec, task, column.headline, where).items()}
    return f"{here}items.html#" + "&".join(f"{quote(key)}={quote(value)}" for key, value in parts.items())


def kept_rows(spec: Spec, task: str, headline: Headline, where: Mapping[str, str]) -> dict[str, str]:
    """Columns of a task's scores -> what they have in the rows behind a cell of ``headline`` whose keys are
    ``where``."""
    scored = ("category", *spec.tasks[task].scores)
    named = {headline.columns.get(key, key): value for key, value in where.items()}
    return {key: value for key, value in named.items() if key in scored and value not in WHOLE}


def badge(column: Column, data: str) -> dict[str, str]:
    """What is known of a headline's metric, in a word or two; ``data`` are those of the run."""
    if column.headline.null is None:
        return {"css": "none", "text": "no null is known"}
    if column.headline.closed_by:
        return {"css": "descriptive", "text": "descriptive: a known blind spot"}
    if column.headline.own_null:
        return {"css": "passed", "text": "compared with placebos of this run"}
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


def _strip(cell: Cell, column: Column) -> dict[str, Any] | None:
    """Where dot and interval lie on a strip; None without a null."""
    null = cell.null
    if null is None or not math.isfinite(cell.effect):
        return None

    def at(value: float) -> float:
        effect = (value - null) / column.headline.smallest
        return round(_STRIP * (0.5 + max(-0.96, min(0.96, effect / _SPAN)) / 2), 1)

    there = math.isfinite(cell.low)
    cut = "right" if cell.effect > _SPAN else "left" if cell.effect < -_SPAN else ""
    low, high = (at(cell.low), at(cell.high)) if there else (None, None)
    return {"at": at(cell.value), "low": low, "high": high, "cut": cut}


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return (text.lstrip("-") if not text.strip("-0.") else text).replace("-", "−")


def _decimals(column: Column) -> int:
    """Decimals of a column: to a tenth of the smallest effect, without one to a tenth of a thirtieth of the largest
    value."""
    values = [abs(cell.value) for cell in column.cells.values() if math.isfinite(cell.value)]
    least = column.headline.smallest or max(values, default=1) / 30
    return max(0, 1 - math.floor(math.log10(least))) if least > 0 else 1


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.1f}".replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
