"""McBE's figures: drawn from tables as read from files, readable with 1 to 20 models, and with no value at all."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from mcbe_cases import SPEC, measured_scores, tables_of

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.plots import style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv, write_csv

FIGURES = registry.figures("mcbe")
STYLES = styles(["small", "large", "black-box"])
#: What is drawn of the dataset, whoever answered.
OF_THE_DATASET = {"composition", "similarity", "word_clouds"}


@pytest.fixture(scope="module")
def tables():
    return tables_of(measured_scores())


def as_read(tables, folder):
    read = {}
    for name, table in tables.items():
        write_csv(table, folder / f"{name}.csv")
        read[name] = read_csv(folder / f"{name}.csv")
    return read


def draw(name, tables, styles=STYLES):
    with style():
        figure = FIGURES[name]({table: tables[table] for table in SPEC.figures[name].tables}, styles)
        figure.canvas.draw()
    return figure


def words_of(figure):
    texts = [text.get_text() for axis in figure.axes for text in axis.texts]
    return " ".join([*texts, *(text.get_text() for text in figure.texts)])


def test_figures_draw_from_tables_as_read_from_files(tables, tmp_path):
    read = as_read(tables, tmp_path)
    for name in SPEC.figures:
        assert draw(name, read).axes, name


@pytest.mark.parametrize("name", SPEC.figures)
def test_figures_say_when_there_is_nothing_to_draw(tables, name):
    empty = {name: table.iloc[:0] for name, table in tables.items()}
    assert "Nothing to draw" in words_of(draw(name, empty))


@pytest.mark.parametrize("name", sorted(set(SPEC.figures) - OF_THE_DATASET))
def test_figures_of_models_without_a_value_say_so(tables, name, tmp_path):
    nothing = {name: table.assign(value=np.nan, ci_low=np.nan, ci_high=np.nan) for name, table in tables.items()}
    assert "Nothing to draw" in words_of(draw(name, as_read(nothing, tmp_path)))


def with_models(tables, number):
    """The ``tables`` of ``number`` models in families of four sizes, whose values stray from those of "small"."""
    names = [f"Family-{place // 4 + 1}-{2 ** (place % 4)}B-Instruct" for place in range(number)]
    rng = np.random.default_rng(1)
    of_models = {}
    for name, table in tables.items():
        if "model" in table:
            rows = table[table["model"] == "small"]
            copies = [rows.assign(model=model, value=rows["value"] + rng.normal(size=len(rows))) for model in names]
            of_models[name] = pd.concat(copies, ignore_index=True)
    for name in ("sizes", "task_sizes"):
        parts = of_models[name]["model"].str.extract(r"(?P<family>.+)-(?P<size_billion>\d+)B-")
        of_models[name] = of_models[name].assign(**parts.astype({"size_billion": float}))
    return names, of_models


@pytest.mark.parametrize("number", [1, 2, 20])
def test_figures_of_many_models_stay_on_a_page(tables, number):
    names, of_models = with_models(tables, number)
    for name in set(SPEC.figures) - OF_THE_DATASET:
        width, height = draw(name, of_models, styles(names)).get_size_inches()
        assert width <= 16 and height <= 18, (name, number, width, height)


def test_a_model_keeps_its_colour(tables):
    """In every figure that draws models as points, the colour is that of its look."""
    for name in ("category_means", "task_means", "scenario_selection"):
        figure = draw(name, tables)
        colours = {to_hex(line.get_color()) for axis in figure.axes for line in axis.lines}
        assert {look.colour.lower() for look in STYLES.values()} <= colours, name


def test_heat_map_shows_every_score(tables):
    shown = words_of(draw("scores", tables)).split()
    values = tables["scores"].query("metric == 'score'")["value"].dropna()
    assert sorted(text.partition("±")[0] for text in shown) == sorted(f"{value:.1f}" for value in values)


def test_scores_of_replies_that_could_not_be_read_stand_in_brackets(tables):
    """Under the authors' rule such a reply counts for no sentence, and SS is 100."""
    scores = tables["scores"]
    shown = draw("scores", {"scores": scores.assign(unparsed=scores["unparsed"].mask(scores["task"] == "SS", 100.0))})
    texts = {axis.get_title(loc="left"): [text.get_text() for text in axis.texts] for axis in shown.axes}
    assert texts["SS"] and all(text.startswith("(") and text.endswith(")") for text in texts["SS"])
    assert not any("(" in text for text in texts["PC"]) and "could not be read" in shown._supxlabel.get_text()


def test_means_that_hardly_differ_are_not_magnified(tables):
    """99.99 for every model: the axis still spans a point at least, and no dot is cut at the frame."""
    means = tables["task_means"].assign(value=99.99, ci_low=99.988, ci_high=99.992)
    axis = draw("task_means", {"task_means": means}).axes[0]
    low, high = axis.get_xlim()
    assert high - low >= 1 and low < 99.98 and high > 100
