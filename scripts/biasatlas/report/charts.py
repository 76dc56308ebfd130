"""Charts of a headline and its parts, as Vega-Lite: dots, intervals, the band of effects too small to matter.

Models and parts go by names of ours (m0, p0): Vega draws nothing where a value is called ``constructor``.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from biasatlas.benchmarks.contract import Metric
from biasatlas.benchmarks.shared.palette import Looks
from biasatlas.report.text import visible
from biasatlas.report.verdicts import Column, whole

#: Up to so many models share a row; more have a row each in a panel for each part.
_SIDE_BY_SIDE = 4
#: Height of a model's row, in pixels.
_ROW = 16
_SHAPES = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond"}
#: Okabe and Ito's black cannot be seen on black; both themes show this instead.
_GREY = "#7d8590"
#: Families that a reader's machine may have for Chinese, then any.
_ESCAPED = re.compile(r"[\\']")
_FONT = "system-ui, 'Noto Sans CJK TC', 'Noto Sans CJK SC', 'PingFang TC', 'Microsoft JhengHei', sans-serif"


def chart(column: Column, metric: Metric, ids: Mapping[str, str], looks: Looks) -> dict[str, Any] | None:
    """The chart of a headline by its parts; None where no cell has a value."""
    named = [(whole(column), column.cells), *column.parts]
    rows = [
        {
            "part": f"p{place}",
            "model": ids[model],
            "value": cell.value,
            **({"low": cell.low, "high": cell.high} if math.isfinite(cell.low) else {}),
            "said": f"{cell.state}: {cell.value:.4g}"
            + (f" [{cell.low:.4g}, {cell.high:.4g}]" if math.isfinite(cell.low) else " (no interval)")
            + f", n {cell.n}",
            "of": visible(f"{model}, {name}"),
        }
        for place, (name, cells) in enumerate(named)
        for model, cell in cells.items()
        if math.isfinite(cell.value)
    ]
    if not rows:
        return None
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    places = list(dict.fromkeys(str(row["part"]) for row in rows))
    label = {f"p{place}": visible(name) for place, (name, _) in enumerate(named)}
    label |= {ids[model]: visible(model) for model in column.cells}
    names = "{" + ",".join(f"{key}:{_quoted(label[key])}" for key in (*models, *places)) + "}"
    x = {
        "type": "quantitative",
        "scale": {"zero": False, "nice": True},
        "axis": {"labelOverlap": "greedy", "labelSeparation": 8},
        "title": visible(f"{column.headline.metric.replace('_', ' ')}{f' ({metric.unit})' if metric.unit else ''}"),
    }
    tooltip = [{"field": "of", "title": "of"}, {"field": "said", "title": "estimate"}]
    colours = {ids[model]: _GREY if look.colour == "#000000" else look.colour for model, look in looks.items()}
    shapes = {ids[model]: _SHAPES[look.marker] for model, look in looks.items()}
    by_model = {
        "color": {
            "field": "model",
            "scale": {"domain": models, "range": [colours[model] for model in models]},
            "legend": {
                "title": None,
                "labelExpr": f"({names})[datum.value]",
                "orient": "top",
                "symbolLimit": 0,
            },
        },
        "opacity": {"condition": {"param": "chosen", "value": 1}, "value": 0.12},
    }
    shape = {
        "field": "model",
        "scale": {"domain": models, "range": [shapes[model] for model in models]},
        "legend": {
            "title": None,
            "labelExpr": f"({names})[datum.value]",
            "orient": "top",
            "symbolLimit": 0,
        },
    }
    together = len(models) <= _SIDE_BY_SIDE
    y: dict[str, Any] = {
        "field": "part" if together else "model",
        "type": "nominal",
        "sort": places if together else models,
        "title": None,
        "axis": {"labelExpr": f"({names})[datum.value]", "labelLimit": 220, "ticks": False, "domain": False},
    }
    place = {"y": y} | ({"yOffset": {"field": "model", "sort": models}} if together else {})
    layers: list[dict[str, Any]] = []
    if column.null is not None:
        band = {"low": column.null - column.headline.smallest, "high": column.null + column.headline.smallest}
        layers.append(
            {
                "data": {"values": [band]},
                "mark": {"type": "rect", "color": _GREY, "opacity": 0.16, "tooltip": None},
                "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}},
            }
        )
        layers.append(
            {
                "data": {"values": [{"null": column.null}]},
                "mark": {"type": "rule", "color": _GREY, "strokeDash": [3, 3]},
                "encoding": {"x": x | {"field": "null"}},
            }
        )
    layers.append(
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, "tooltip": tooltip, **place, **by_model},
        }
    )
    layers.append(
        {
            "params": [{"name": "chosen", "select": {"type": "point", "fields": ["model"]}, "bind": "legend"}],
            "mark": {"type": "point", "filled": True, "size": 70},
            "encoding": {"x": x | {"field": "value"}, "shape": shape, "tooltip": tooltip, **place, **by_model},
        }
    )
    spec: dict[str, Any] = {"data": {"values": rows}}
    if together:
        spec |= {
            "layer": layers,
            "height": _ROW * max(1.5, len(models)) * len(places),
        }  # as wide as its place on the page
    else:
        # Bands and the null have data of their own, which a facet would not repeat.
        spec |= {
            "facet": {
                "field": "part",
                "type": "nominal",
                "sort": places,
                "title": None,
                "header": {"labelExpr": f"({names})[datum.value]", "labelFontWeight": "bold"},
            },
            "columns": 3,
            "spec": {"layer": layers, "width": 190, "height": _ROW * len(models)},
        }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        "config": {
            "font": _FONT,
            "view": {"stroke": None},
            "axis": {
                "grid": True,
                "gridColor": _GREY,
                "gridOpacity": 0.2,
                "domainColor": _GREY,
                "tickColor": _GREY,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "titleAnchor": "end",
            },
            "legend": {"labelFontSize": 12, "labelLimit": 160, "columns": 4 if together else 3},
        },
        **spec,
    }


def _quoted(text: str) -> str:
    """A text in an expression, in two halves: Vega's interpreter fails at one that is called as a property of any object."""
    halves = (text[:1], text[1:])
    return "+".join(
        "'" + _ESCAPED.sub(lambda found: "\\" + found[0], " ".join(half.split("\n"))) + "'" for half in halves
    )
