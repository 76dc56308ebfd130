"""Plots that several benchmarks draw: from 1 to 20 models all is in view and in words, and none is hidden."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from biasatlas.benchmarks.shared import styles
from biasatlas.benchmarks.shared.plots import dot_intervals, empty_figure, grouped_bars, save, style

MODELS = [f"model-{number}-of-20" for number in range(1, 20)] + ["汉语模型"]
ROWS = [f"category_{number}" for number in range(1, 13)] + ["社会经济地位"]
STYLES = styles.styles(MODELS)


def results(models=2, rows=3, panels=("ambig",), value=None):
    """A table of one metric; every third estimate has a published number."""
    noise = np.random.default_rng(0)
    keys = itertools.product(MODELS[-models:], ROWS[-rows:], panels)
    table = pd.DataFrame(keys, columns=["model", "category", "condition"])
    table["value"] = noise.uniform(-80, 80, len(table)) if value is None else value
    table["ci_low"], table["ci_high"] = table["value"] - 9, table["value"] + 15
    table["published"] = [f"{value - 20:.1f}" if place % 3 == 0 else None for place, value in enumerate(table["value"])]
    return table


def draw(table, **arguments):
    return dot_intervals(table, "category", STYLES, **{"label": "score (%)"} | arguments)


def texts(figure):
    """Every text in the figure that is not empty."""
    shown = [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]
    return [text for text in shown if text]


def test_bars_stand_side_by_side_and_a_missing_one_says_so():
    values = pd.DataFrame({"a": [1.0, 4.0], "b": [2.0, np.nan]}, index=["x", "y"])
    axis = Figure().subplots()
    at = grouped_bars(axis, values, styles.styles(["a", "b"]))
    bars = {tuple(map(float, (bar.get_x() + bar.get_width() / 2, bar.get_height()))) for bar in axis.patches}
    assert {(0 - 0.2, 1.0), (1 - 0.2, 4.0), (0 + 0.2, 2.0)} <= {(round(x, 9), y) for x, y in bars}
    assert [(text.get_text().strip(), text.get_position()[0]) for text in axis.texts] == [("no value", 1.2)]
    assert at.loc["y", "b"] == 1.2 and [tick.get_text() for tick in axis.get_xticklabels()] == ["x", "y"]


SIZES = [
    (models, *shape) for models in (1, 2, 4, 5, 12, 20) for shape in ((1, ("ambig",)), (13, ("ambig", "disambig")))
]


@pytest.mark.parametrize(("models", "rows", "panels"), SIZES)
def test_every_name_and_value_is_in_view(models, rows, panels):
    table = results(models, rows, panels)
    names = {name: name.replace("_", " ") for name in ROWS} | {"ambig": "Ambiguous", "disambig": "Disambiguated"}
    figure = draw(table, panels="condition", names=names, reference=0, limits=(-100, 100))
    shown = "\n".join(texts(figure))
    for name in [*MODELS[-models:], *(names[name] for name in (*ROWS[-rows:], *panels)), "published", "score (%)"]:
        assert name in shown
    drawn = [line.get_xdata() for axis in figure.axes for line in axis.lines]
    for column in ("value", "published"):
        assert set(table[column].dropna().astype(float)) <= {float(x) for data in drawn for x in np.atleast_1d(data)}
    numbers = table[["value", "ci_low", "ci_high", "published"]].astype(float)
    for axis in figure.axes:
        low, high = axis.get_xlim()
        assert low < min(numbers.min()) < max(numbers.max()) < high
        assert low < 0 < high


@pytest.mark.parametrize(("models", "rows", "panels"), SIZES)
def test_figures_fit_a_page_and_no_text_covers_another_panel(models, rows, panels):
    with style(), warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that no font has, a layout that does not fit
        figure = draw(results(models, rows, panels), panels="condition", limits=(-100, 100))
        figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    assert width <= 13
    assert height <= 14
    around = [legend.get_window_extent() for legend in figure.legends] + [
        figure._supxlabel.get_window_extent(),
    ]
    boxes = [axis.get_tightbbox() for axis in figure.axes] + around
    for box, other in itertools.combinations(boxes, 2):
        overlap = box.intersection(box, other)
        assert overlap is None or min(overlap.width, overlap.height) < 1.5  # pixels


def test_a_model_looks_the_same_in_every_figure():
    for count in (2, 12):
        table = results(count)
        figure = draw(table)
        drawn = {
            float(x): (line.get_color(), line.get_marker())
            for axis in figure.axes
            for line in axis.lines
            for x in np.atleast_1d(line.get_xdata())
        }
        for row in table.itertuples():
            assert drawn[row.value] == STYLES[row.model]


def test_rows_stand_in_the_given_order_then_in_the_tables():
    figure = draw(results(rows=4), order=[ROWS[-1], "absent", ROWS[-3]])
    expected = [ROWS[-1], ROWS[-3], ROWS[-4], ROWS[-2]]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == expected


def test_models_stand_in_the_configurations_order():
    table = results(6).iloc[::-1]
    figure = draw(table)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == MODELS[-6:]


@pytest.mark.parametrize("models", [2, 12])
def test_a_model_without_a_value_says_so_in_its_place(models):
    table = results(models, rows=1)
    table.loc[0, ["value", "ci_low", "ci_high", "published"]] = np.nan
    assert texts(draw(table)).count("no value") == 1
    assert texts(draw(table[1:])).count("no value") == 0  # it has no place


def test_where_nothing_has_a_value_the_figure_is_a_sentence():
    table = results(3, value=np.nan)
    assert texts(draw(table)) == ["Nothing to draw: no model has a value."]
    assert texts(draw(table[:0], empty="nobody answered")) == ["Nothing to draw: nobody answered."]
    assert texts(empty_figure("no task was measured")) == ["Nothing to draw: no task was measured."]


def test_an_interval_may_be_missing_and_so_may_its_column():
    table = results()
    for part in (table.assign(ci_low=np.nan, ci_high=np.nan), table.drop(columns=["ci_low", "ci_high", "published"])):
        assert "published" not in texts(draw(part.drop(columns="published", errors="ignore")))


@pytest.mark.parametrize(
    ("value", "limits", "scale"),
    [(99.99, (0, 100), 100), (100.0, (0, 100), 100), (0.0, (0, 100), 100), (50.0, None, 50), (0.0, None, 1)],
)
def test_equal_values_are_not_blown_up(value, limits, scale):
    table = results(value=value).drop(columns=["ci_low", "ci_high", "published"])
    low, high = draw(table, limits=limits).axes[0].get_xlim()
    assert high - low >= 0.01 * scale
    assert low < value < high
    if limits:
        margin = 0.1 * (high - low)
        assert limits[0] - margin <= low < high <= limits[1] + margin


def test_a_value_beyond_the_scale_is_still_in_view():
    table = results(value=103.0).drop(columns=["ci_low", "ci_high", "published"])
    assert draw(table, limits=(0, 100)).axes[0].get_xlim()[1] > 103


def test_a_model_that_has_no_look_is_an_error():
    with pytest.raises(KeyError, match="stranger"):
        draw(results().assign(model="stranger"))


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        with style():
            save(draw(results(5, panels=("ambig", "disambig")), panels="condition"), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
