"""Charts of a headline and its parts, as Vega-Lite: dots, intervals, the band of effects too small to matter.

Models and parts go by names of ours (m0, p0): Vega draws nothing where a value is called ``constructor``.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from biasatlas.benchmarks.contract import Metric
from biasatlas.benchmarks.shared.styles import Style, Styles
from biasatlas.report.cells import GREY, shown_style
from biasatlas.report.text import visible
from biasatlas.report.verdicts import Column, named

#: Up to this many models share a row; more have a row each, in a panel for each part.
_SIDE_BY_SIDE = 4
#: Height of a model's row, in pixels.
_ROW = 16
_SHAPES = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond"}
_ESCAPED = re.compile(r"[\\']")
#: Fonts that a reader's machine may have for Chinese, then any.
_FONT = "system-ui, 'Noto Sans CJK TC', 'Noto Sans CJK SC', 'PingFang TC', 'Microsoft JhengHei', sans-serif"
#: What both themes share.
_CONFIG = {
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "grid": True,
        "gridColor": GREY,
        "gridOpacity": 0.2,
        "domainColor": GREY,
        "tickColor": GREY,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleAnchor": "end",
    },
    "legend": {"labelFontSize": 12, "labelLimit": 160, "columns": 4},
}


def chart(column: Column, metric: Metric, ids: Mapping[str, str], model_styles: Styles) -> dict[str, Any] | None:
    """The chart of a headline by its parts; None where no cell has a value."""
    rows = _rows(column, ids)
    if not rows:
        return None
    models, parts = (list(dict.fromkeys(str(row[key]) for row in rows)) for key in ("model", "part"))
    label = _label(column, ids, [*models, *parts])
    together = len(models) <= _SIDE_BY_SIDE
    x = {
        "type": "quantitative",
        "scale": {"zero": False, "nice": True},
        "axis": {"labelOverlap": "greedy", "labelSeparation": 8, "tickCount": 10 if together else 4},
        "title": [
            visible(f"{column.headline.metric.replace('_', ' ')}{f' ({metric.unit})' if metric.unit else ''}"),
            *["hollow: untestable"] * any(row["hollow"] for row in rows),
        ],
    }
    y = _y(models, parts, label, together)
    styles = _styles(models, {ids[model]: look for model, look in model_styles.items()}, label, together)
    layers = [*_band(column, x), *_estimates(x, y, **styles)]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        "config": _CONFIG,
        "data": {"values": rows},
        # Without a width: the page makes it as wide as its place.
        **({"layer": layers, "height": _ROW * max(1.5, len(models)) * len(parts)} if together else {}),
        **({} if together else _panels(layers, parts, label, _ROW * len(models))),
    }


def _rows(column: Column, ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each part and model with a value: where its dot is, its interval, and its tooltip."""
    return [
        {
            "part": f"p{place}",
            "model": ids[model],
            "value": cell.value,
            **({"low": cell.low, "high": cell.high} if math.isfinite(cell.low) else {}),
            "said": f"{cell.said}: {cell.value:.4g}"
            + (f" [{cell.low:.4g}, {cell.high:.4g}]" if math.isfinite(cell.low) else " (no interval)")
            + f", n {cell.n}",
            "of": visible(f"{model}, {name}"),
            "hollow": column.null is not None and cell.state == "untestable",
        }
        for place, (name, cells) in enumerate(named(column))
        for model, cell in cells.items()
        if math.isfinite(cell.value)
    ]


def _label(column: Column, ids: Mapping[str, str], keys: list[str]) -> dict[str, str]:
    """Vega's expression for labels, which turns our names for models and parts into their own."""
    names = {f"p{place}": visible(name) for place, (name, _) in enumerate(named(column))}
    names |= {ids[model]: visible(model) for model in column.cells}
    return {"labelExpr": f"({{{','.join(f'{key}:{_quoted(names[key])}' for key in keys)}}})[datum.value]"}


def _y(models: list[str], parts: list[str], label: dict[str, str], together: bool) -> dict[str, Any]:
    """The vertical axis: a row for each part with its models side by side, or a row for each model."""
    y = {
        "field": "part" if together else "model",
        "type": "nominal",
        "sort": parts if together else models,
        "title": None,
        "axis": {**label, "labelLimit": 220 if together else 130, "ticks": False, "domain": False},
    }
    return {"y": y} | ({"yOffset": {"field": "model", "sort": models}} if together else {})


def _styles(
    models: list[str], model_styles: Mapping[str, Style], label: dict[str, str], together: bool
) -> dict[str, Any]:
    """The ``shape`` of each model, and its colour (``by_model``), which is pale if the reader chose another model in
    the legend. Models that have a row each need no legend."""
    legend = {"title": None, **label, "orient": "top"} if together else None
    colours = [shown_style(model, model_styles[model])["colour"] for model in models]
    shapes = [_SHAPES[model_styles[model].marker] for model in models]
    return {
        "by_model": {
            "color": {"field": "model", "scale": {"domain": models, "range": colours}, "legend": legend},
            "opacity": {"condition": {"param": "chosen", "value": 1}, "value": 0.12},
        },
        "shape": {"field": "model", "scale": {"domain": models, "range": shapes}, "legend": legend},
    }


def _band(column: Column, x: dict[str, Any]) -> list[dict[str, Any]]:
    """The layers of the effects that are too small to matter and of the null; none if the null is not known."""
    if column.null is None:
        return []
    band = {"low": column.null - column.headline.smallest, "high": column.null + column.headline.smallest}
    return [
        {
            "data": {"values": [band]},
            "mark": {"type": "rect", "color": GREY, "opacity": 0.16, "tooltip": None},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "data": {"values": [{"null": column.null}]},
            "mark": {"type": "rule", "color": GREY, "strokeDash": [3, 3]},
            "encoding": {"x": x | {"field": "null"}},
        },
    ]


def _estimates(
    x: dict[str, Any], y: dict[str, Any], by_model: dict[str, Any], shape: dict[str, Any]
) -> list[dict[str, Any]]:
    """The layers of intervals and dots."""
    shared = {"tooltip": [{"field": "of", "title": "of"}, {"field": "said", "title": "estimate"}], **y, **by_model}
    fill = {"condition": {"test": "datum.hollow", "value": 0}, "value": 1}
    hollow = {"stroke": by_model["color"], "fillOpacity": fill}
    return [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, **shared},
        },
        {
            "params": [{"name": "chosen", "select": {"type": "point", "fields": ["model"]}, "bind": "legend"}],
            "mark": {"type": "point", "filled": True, "size": 70, "strokeWidth": 1.6},
            "encoding": {"x": x | {"field": "value"}, "shape": shape, **shared} | hollow,
        },
    ]


def _panels(layers: list[dict[str, Any]], parts: list[str], label: dict[str, str], height: int) -> dict[str, Any]:
    """A panel for each part. The band and the null have data of their own, so that they are in every panel."""
    return {
        "facet": {
            "field": "part",
            "type": "nominal",
            "sort": parts,
            "title": None,
            "header": {**label, "labelFontWeight": "bold"},
        },
        "columns": 3,
        "spec": {"layer": layers, "width": 190, "height": height},
    }


def _quoted(text: str) -> str:
    """``text`` as a literal in an expression, in two halves: Vega's interpreter fails at a literal that is the name of
    a property of every object."""
    halves = (text[:1], text[1:])
    return "+".join(
        "'" + _ESCAPED.sub(lambda found: "\\" + found[0], " ".join(half.split("\n"))) + "'" for half in halves
    )
