"""Plots that several benchmarks draw, and how every figure looks and is saved: the same tables give the same bytes."""

import contextlib
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from biasatlas import ROOT
from biasatlas.benchmarks.shared.styles import MARKERS, Styles
from biasatlas.files import atomic_file

#: With more models than this, each value of ``rows`` gets a panel, and each model a row in it.
_SIDE_BY_SIDE = 4
#: Columns of such a grid, without and with ``panels``.
_COLUMNS, _COLUMNS_WITH_PANELS = 4, 6
#: In inches: the height that 20 models in 13 panels take, and the height of a line, comfortable and barely readable.
_HEIGHT, _LINE, _LEAST_LINE = 13.6, 0.17, 0.09
#: An axis shows at least this share of its scale, so that no small difference looks large.
_LEAST_SHARE = 0.05
#: A margin at each end of an axis, as a share of what it shows: no marker is cut.
_MARGIN = 0.05

_NUMBERS = ["value", "ci_low", "ci_high", "published"]
_HATCHES = dict(zip(MARKERS, ("", "////", "xxxx", "...."), strict=True))
_CROSS = {"marker": "x", "color": "0.2", "markersize": 5, "linestyle": "none"}


def dot_intervals(
    table: pd.DataFrame,
    rows: str,
    styles: Styles,
    *,
    label: str,
    reference: float | None = None,
    order: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    panels: str | None = None,
    limits: tuple[float, float] | None = None,
    empty: str = "no model has a value",
) -> Figure:
    """A dot and an interval for every model and value of the column ``rows``; a cross where a number is published.

    ``table`` has the rows of one metric: ``model``, ``rows``, ``value``, ``ci_low``, ``ci_high``, ``published`` (any of
    the last three may be missing or absent), ``hollow`` (whether to draw a hollow dot; may be absent), and ``panels``,
    a column that splits the figure. ``styles`` gives every model its colour and marker, and the order of models; values
    of ``rows`` follow ``order``, then the table. ``names`` are the published words for values of ``rows`` and
    ``panels``. ``label`` is that of the x axis, ``reference`` a line across it; ``limits`` are the ends of its scale,
    which it passes only by a margin.

    Up to four models share a row; more have a row each, in a panel per value of ``rows``. "no value" stands in place of
    a missing dot, and if no model has a value, the figure is the sentence ``empty``. Raises KeyError for an unknown
    model.
    """
    data = _tidy(table, rows, panels, order or (), names or {})
    if data["value"].isna().all():
        return empty_figure(empty)
    position = {model: number for number, model in enumerate(styles)}
    styles = {model: styles[model] for model in sorted(data["model"].unique(), key=position.__getitem__)}
    draw = _side_by_side if len(styles) <= _SIDE_BY_SIDE else _small_multiples
    figure, axes = draw(data, styles)
    low, high = axis_limits([*data[_NUMBERS].stack(), reference], limits)
    first = axes[0]  # they all share its scale
    first.set_xlim(low, high)
    ticks = 8 if first.get_gridspec().ncols == 1 else 4
    first.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    first.ticklabel_format(axis="x", useOffset=False)
    if reference is not None:
        for axis in axes:
            axis.axvline(reference, color="0.55", linewidth=1, zorder=1)
    figure.supxlabel(label, fontsize="medium")
    return figure


def grouped_bars(axis: Axes, values: pd.DataFrame, styles: Styles) -> pd.DataFrame:
    """Draw a group of bars for each row of ``values``, a bar per column in that column's style, or "no value".

    A style's marker becomes a hatch, which distinguishes bars of one colour; the axis has handles for a legend. Groups
    are at 0, 1, ..., with their row's name. Returns where each bar is centred, in the shape of ``values``.
    """
    width = 0.8 / len(values.columns)
    middles = pd.DataFrame(
        np.arange(len(values))[:, None] + width * (np.arange(len(values.columns)) - (len(values.columns) - 1) / 2),
        index=values.index,
        columns=values.columns,
    )
    for name, column in values.items():
        colour, marker = styles[str(name)]
        hatch = _HATCHES[marker]
        axis.bar(
            middles[name], column, width=0.92 * width, color=colour, hatch=hatch, edgecolor="w", linewidth=0, label=name
        )
        for x in middles.loc[column.isna(), name]:
            axis.text(x, 0, " no value", rotation=90, ha="center", va="bottom", fontsize=6, color="0.4")
    axis.set_xticks(range(len(values)), values.index)
    axis.tick_params(axis="x", length=0)
    axis.grid(axis="y", color="0.92")
    axis.set_axisbelow(True)
    return middles


def panel_grid(
    count: int, width: float, height: float, most: int = _COLUMNS, **shared: bool
) -> tuple[Figure, list[Axes]]:
    """A figure of ``count`` panels, at most ``most`` in a row, each ``width`` by ``height`` inches."""
    columns = min(count, most)
    rows = -(-count // columns)
    drawing = Figure(figsize=(1.5 + width * columns, 0.9 + height * rows), layout="constrained")
    axes = drawing.subplots(rows, columns, squeeze=False, **shared).ravel()
    for axis in axes[count:]:
        axis.remove()
    for axis in axes[max(count - columns, 0) : count]:  # those above a removed panel have no other below them
        axis.tick_params(labelbottom=True)
    return drawing, list(axes[:count])


def empty_figure(reason: str) -> Figure:
    """A small figure that says why there is nothing to draw."""
    text = textwrap.fill(f"Nothing to draw: {reason}.", 90)
    figure = Figure(figsize=(6.5, 1 + 0.2 * text.count("\n")))
    figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure


def axis_limits(values: Sequence[float | None], limits: tuple[float, float] | None) -> tuple[float, float]:
    """Ends of an axis that shows all ``values`` with a margin, and at least :data:`_LEAST_SHARE` of its scale.

    The scale is that between ``limits``, beyond which only values and the margin go; else 0 to the largest size.
    """
    known = [value for value in values if value is not None and np.isfinite(value)]
    low, high = min(known), max(known)
    scale = limits[1] - limits[0] if limits else max(abs(low), abs(high)) or 1.0
    least = _LEAST_SHARE * scale
    if high - low < least:
        middle = (low + high) / 2
        if limits:
            middle = float(np.clip(middle, limits[0] + least / 2, limits[1] - least / 2))
        low, high = min(low, middle - least / 2), max(high, middle + least / 2)
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def model_legend(figure: Figure, styles: Styles, others: Mapping[str, Line2D]) -> None:
    """Add a legend of the models and ``others`` above all panels, which covers none; nothing if both are empty."""
    models = {
        model: Line2D([], [], color=colour, marker=marker, markersize=4.5) for model, (colour, marker) in styles.items()
    }
    handles = {**models, **others}
    if handles:
        columns = int(figure.get_figwidth() / (0.55 + _text_width(handles)))
        columns = min(max(1, columns), len(handles))
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=columns, frameon=False)


def _tidy(
    table: pd.DataFrame, rows: str, panels: str | None, order: Sequence[str], names: Mapping[str, str]
) -> pd.DataFrame:
    """``model``, ``row`` and ``panel`` as published, and the numbers as floats; rows stand in the order of drawing."""
    data = table.reindex(columns=_NUMBERS).apply(pd.to_numeric, errors="coerce")
    data = data.assign(model=table["model"], row=table[rows], panel=table[panels] if panels else "")
    data["hollow"] = table.get("hollow", False)
    position = {value: number for number, value in enumerate(order)}
    data = data.sort_values("row", key=lambda row: row.map(position).fillna(len(position)), kind="stable")
    for column in ("row", "panel"):
        data[column] = [names.get(value, str(value)) for value in data[column]]
    return data


def _side_by_side(data: pd.DataFrame, styles: Styles) -> tuple[Figure, Sequence[Axes]]:
    """A panel per value of ``panel``, a row per value of ``row``, the models beside each other in it."""
    rows, panels = data["row"].unique(), data["panel"].unique()
    lines = len(rows) * (len(styles) + 0.8)
    size = (_text_width(rows) + max(2.6, 5.5 / len(panels)) * len(panels), 1.5 + _line_height(lines, 1.5) * lines)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    spread = np.arange(len(styles)) - (len(styles) - 1) / 2
    offsets = dict(zip(styles, spread / (len(styles) + 0.8), strict=True))
    heights = {(row, model): number + offsets[model] for number, row in enumerate(rows) for model in styles}
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, data[data["panel"] == panel], heights, styles)
        axis.set_title(panel)
        for shaded in range(1, len(rows), 2):
            axis.axhspan(shaded - 0.5, shaded + 0.5, color="0.965", zorder=0)
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    model_legend(figure, styles, _cross(data))
    return figure, axes


def _small_multiples(data: pd.DataFrame, styles: Styles) -> tuple[Figure, Sequence[Axes]]:
    """A panel per value of ``row`` and ``panel``, a row per model in each; all share their axes."""
    panels = data["panel"].unique()
    cells = [(row, panel) for row in data["row"].unique() for panel in panels]
    columns = _COLUMNS if len(panels) == 1 else len(panels) * max(1, _COLUMNS_WITH_PANELS // len(panels))
    columns = min(columns, len(cells))
    grid_rows = -(-len(cells) // columns)
    width = max(1.75, 5.5 / columns)
    fixed = 1 + 0.5 * grid_rows
    lines = grid_rows * len(styles)
    line = _line_height(lines, fixed)
    figure = Figure(figsize=(_text_width(styles) + width * columns, fixed + line * lines), layout="constrained")
    grid = figure.subplots(grid_rows, columns, sharex=True, sharey=True, squeeze=False)
    axes = grid.ravel()[: len(cells)]
    for axis in grid.ravel()[len(cells) :]:
        axis.remove()
    for axis in axes[-columns:]:  # a panel above a removed one has its column's labels
        axis.tick_params(labelbottom=True)
    for axis, (row, panel) in zip(axes, cells, strict=True):
        heights = {(row, model): number for number, model in enumerate(styles)}
        _draw(axis, data[(data["row"] == row) & (data["panel"] == panel)], heights, styles)
        title = textwrap.fill(row, int(width / 0.075))
        axis.set_title(f"{title}\n{panel}" if panel else title, fontsize=8, loc="left")
        axis.grid(axis="y", color="0.95")
    axes[0].set_yticks(range(len(styles)), styles)
    axes[0].set_ylim(len(styles) - 0.4, -0.6)
    for axis in grid[:, 0]:
        axis.tick_params(axis="y", labelsize=min(8, 68 * line))
    model_legend(figure, {}, _cross(data))
    return figure, axes


def _draw(axis: Axes, data: pd.DataFrame, heights: Mapping[tuple[str, str], float], styles: Styles) -> None:
    """The dots, intervals and crosses of one panel, each at the height of its (row, model)."""
    for model, (colour, marker) in styles.items():
        part = data[data["model"] == model]
        y = [heights[row, model] for row in part["row"]]
        axis.hlines(y, part["ci_low"], part["ci_high"], color=colour, linewidth=1.5)
        axis.plot(part["value"].mask(part["hollow"]), y, marker, color=colour, markersize=4.5)
        if part["hollow"].any():
            axis.plot(part["value"].where(part["hollow"]), y, marker, color=colour, markersize=4.5, markerfacecolor="w")
        axis.plot(part["published"], y, **_CROSS)
    known = data[data["value"].notna()]
    measured = set(zip(known["row"], known["model"], strict=True))
    for height in (height for key, height in heights.items() if key not in measured):
        axis.text(0.01, height, "no value", transform=axis.get_yaxis_transform(), va="center", fontsize=6, color="0.4")
    axis.grid(axis="x", color="0.9")
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)


def _cross(data: pd.DataFrame) -> dict[str, Line2D]:
    """The legend's entry for published numbers, if there are any."""
    return {"published": Line2D([], [], **_CROSS)} if data["published"].notna().any() else {}


def _line_height(lines: float, fixed: float) -> float:
    """Inches per line in a figure with this number of ``lines``, besides ``fixed`` inches of titles and legend."""
    return float(np.clip((_HEIGHT - fixed) / lines, _LEAST_LINE, _LINE))


def _text_width(texts: Iterable[str]) -> float:
    """About how many inches the longest text takes; a Chinese character is as wide as two letters."""
    return 0.3 + 0.065 * max(sum(1 + (character > "\u2e80") for character in text) for text in texts)


#: A subset of Noto Sans CJK TC (SIL Open Font License): the common characters of Traditional and Simplified Chinese.
CJK_FONT = ROOT / "resources" / "fonts" / "NotoSansCJKtc-Regular-subset.otf"

_STYLE = {
    # The fallback works through `font.family` only; through `font.sans-serif` Chinese is drawn as boxes.
    "font.family": ["DejaVu Sans", "Noto Sans CJK TC"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "biasatlas",
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw figures in the project's style, Chinese labels included, inside the block."""
    font_manager.fontManager.addfont(CJK_FONT)
    with mpl.rc_context(_STYLE):
        yield


def save(figure: Figure, path: str) -> None:
    """Write ``figure`` as SVG, whole or not at all, with text as text and no date."""
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
