"""What TWBias's figures share: panels, heat maps, a legend."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from biasatlas.benchmarks.shared.palette import Looks
from biasatlas.benchmarks.twbias.vocabulary import GROUP_NAMES

#: Panels in a row, and small ones; more of them continue in the next row, or are given more room.
SIDE_BY_SIDE, MANY = 4, 6


def attribute_categories(table: pd.DataFrame, group: str) -> dict[str, int]:
    """Attribute category of a group -> its largest n, largest first."""
    return (
        table[table["target_group"] == group]
        .groupby("attribute_category")["n"]
        .max()
        .sort_values(ascending=False, kind="stable")
        .to_dict()
    )


def value_grid(
    rows: pd.DataFrame, metric: str, by: str, values: Sequence[str], references: Sequence[str]
) -> np.ndarray:
    """A metric by the ``values`` of the column ``by`` and the ``references``; missing where the table has no row."""
    wide = rows[rows["metric"] == metric].pivot(index=by, columns="reference_group", values="value")
    return wide.reindex(index=list(values), columns=list(references)).to_numpy(float)


def cell_labels(form: str, *values: np.ndarray) -> np.ndarray:
    """A text for each cell, of its ``values``."""
    return np.vectorize(form.format, otypes=[object])(*values)


def colour_limit(rows: pd.DataFrame) -> float:
    """The end of a colour scale around 0 that holds all values."""
    values = rows["value"].abs()
    return max(0.1, float(values[np.isfinite(values)].max()))


def heat_map(
    axis: Axes,
    values: np.ndarray,
    labels: np.ndarray,
    limit: float,
    bold: np.ndarray | None = None,
    fontsize: float = 7,
    share: bool = False,
) -> AxesImage:
    """A grid of cells coloured on a diverging scale around 0, of a ``share`` in greys from 0 to ``limit``.

    Missing cells are grey and have no label.
    """
    axis.set_facecolor("0.93")
    colours, least = ("Greys", 0.0) if share else ("RdBu_r", -limit)
    image = axis.imshow(values, cmap=colours, vmin=least, vmax=limit, aspect="auto")
    for row, column in np.argwhere(np.isfinite(values)):
        axis.text(
            column,
            row,
            labels[row, column],
            ha="center",
            va="center",
            fontsize=fontsize,
            fontweight="bold" if bold is not None and bold[row, column] else "normal",
            color="white" if abs(values[row, column]) > 0.65 * limit else "black",
        )
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return image


def short_name(group: str) -> str:
    """A group's name on an axis."""
    return GROUP_NAMES[group].removesuffix(" Peoples")


def panel_grid(
    count: int, width: float, height: float, most: int = SIDE_BY_SIDE, **shared: bool
) -> tuple[Figure, list[Axes]]:
    """A figure of ``count`` panels, at most ``most`` in a row, each ``width`` by ``height`` inches."""
    columns = min(count, most)
    rows = -(-count // columns)
    drawing = Figure(figsize=(1.5 + width * columns, 0.9 + height * rows))
    axes = drawing.subplots(rows, columns, squeeze=False, **shared).ravel()
    for axis in axes[count:]:
        axis.remove()
    for axis in axes[max(count - columns, 0) : count]:  # those above a removed panel have no other below them
        axis.tick_params(labelbottom=True)
    return drawing, list(axes[:count])


def colour_bar(drawing: Figure, image: ScalarMappable, axes: Sequence[Axes], label: str) -> None:
    """A colour bar above all panels."""
    pad = 0.1 / drawing.get_figheight()
    ticks = MaxNLocator(6, steps=[1, 2, 5, 10])  # labels of a narrow figure would run into one another
    drawing.colorbar(image, ax=axes, location="top", shrink=0.6, aspect=35, pad=pad, label=label, ticks=ticks)


def legend(drawing: Figure, models: Iterable[str], looks: Looks, title: str | None = None) -> None:
    """A legend of the models below all panels."""
    handles = [
        Line2D([], [], color=looks[model].colour, marker=looks[model].marker, markersize=4.5, label=model)
        for model in models
    ]
    # As many columns as the longest name leaves room for, at about 0.07 inches a letter.
    longest = max((len(handle.get_label()) for handle in handles), default=0)
    columns = max(1, min(len(handles), int(drawing.get_figwidth() / (0.5 + 0.07 * longest))))
    drawing.legend(handles=handles, loc="outside lower center", ncols=columns, title=title)
