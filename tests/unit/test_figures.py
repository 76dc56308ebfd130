"""Figures of one model, of twenty and of nothing that was measured, where their benchmark's own tests do not draw them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from standins import resources

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.figures import draw_framings, draw_multiverse, draw_pairs
from biasatlas.benchmarks.dbb.figures import draw_distribution, draw_match
from biasatlas.benchmarks.mt_bench.spec import FIELDS
from biasatlas.benchmarks.shared.plots import style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.harness import Harness


@pytest.fixture(autouse=True)
def _in_the_projects_style():
    with style():
        yield


DRAWN = [("bbq", "bias"), ("crows_pairs", "scores"), ("difference_awareness", "plane"), ("hiring_bias", "shifts")]


def tables_of(benchmark: str, figure: str) -> dict[str, pd.DataFrame]:
    """The tables of a simulated model on the sample that a figure is drawn from."""
    spec = registry.load_spec(benchmark)
    folder = ROOT / "resources/samples" / spec.sample
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    shipped = resources(
        benchmark,
        *{n for s in ("items", "requests", "scores", "tables") for n in registry.resource_names(benchmark, s)},
    )
    items = registry.read_items(benchmark)(files, shipped)
    bench = Harness.of(benchmark, "recommended", shipped, items, list(spec.tasks))
    scores = bench.scores(SimulatedEntry(kind="simulated", bias=1.0, noise=0.5), "model")
    return {name: bench.table(name, scores) for name in spec.figures[figure].tables}


def grades(_: str, __: str) -> dict[str, pd.DataFrame]:
    fields = pd.DataFrame({"category": [*FIELDS, "mean"], "turn": "both", "metric": "judge_score", "model": "model"})
    return {"scores": fields.assign(value=5.0, ci_low=4.0, ci_high=6.0, published=None)}


def drawn(name, tables, models, **numbers):
    """The figure of so many models with these values, or with the ``numbers``, as it is saved."""
    names = [f"model-{place}" for place in range(models)]
    repeated = {
        table: pd.concat([rows.assign(model=model, **numbers) for model in names], ignore_index=True)
        for table, rows in tables.items()
    }
    return saved(registry.figures(name[0])[name[1]](repeated, styles(names)))


def saved(figure):
    """``figure``; and of a few models' (one of many takes long to lay out) the words that stand outside, which would be cut."""
    assert figure.get_figwidth() <= 12  # on a page of 18 cm its text of 9 points is still one of more than 5
    if len(figure.axes) > 12:
        return figure, []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as of axes for which a legend leaves no room
        figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    texts = [
        figure._supxlabel,
        figure._supylabel,
        figure._suptitle,
        *(each for one in figure.legends for each in one.get_texts()),
    ]
    boxes = {text.get_text(): text.get_window_extent() for text in texts if text is not None}
    cut = [
        word for word, box in boxes.items() if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    return figure, cut


def words(figure) -> str:
    texts = [*figure.texts, *(text for axis in figure.axes for text in [*axis.texts, *axis.get_yticklabels()])]
    texts += [axis.title for axis in figure.axes] + [text for one in figure.legends for text in one.get_texts()]
    return "\n".join(text.get_text() for text in texts)


@pytest.mark.parametrize("name", [*DRAWN, ("mt_bench", "scores")], ids="-".join)
def test_a_figure_names_every_model_and_says_where_nothing_was_measured(name):
    tables = (grades if name[0] == "mt_bench" else tables_of)(*name)
    for models in (1, 20):
        figure, cut = drawn(name, tables, models)
        assert cut == []
        assert all(f"model-{place}" in words(figure) for place in range(models)), models
    figure, cut = drawn(name, tables, 1, value=np.nan, ci_low=np.nan, ci_high=np.nan)
    assert "Nothing to draw" in words(figure) and cut == []


def test_a_level_of_two_factors_has_a_row_in_each():
    """`India` is an address and a workplace: no row of one factor says "no value" under another."""
    figure, _ = drawn(("hiring_bias", "shifts"), tables_of("hiring_bias", "shifts"), 1)
    said = words(figure)
    assert "address: India" in said and "workplaces: India" in said and "no value" not in said


def test_a_pair_of_groups_that_failed_in_simulations_is_hollow():
    rows = pd.DataFrame({"group": ["female", "hakka"], "other_group": ["male", "hoklo"], "value": 1.0, "model": "m"})
    rows = rows.assign(metric="own_group_advantage", over="terms", ci_low=0.5, ci_high=1.5)
    card = {"metric": "own_group_advantage", "of": "hakka, hoklo, terms"}
    for verdict, hollow in (("descriptive", [False, True]), ("passed", [False, False])):
        draw = registry.figures("twbias")["own_group"]
        figure, cut = saved(draw({"own_group": rows}, styles(["m"]), [card | {"verdict": verdict}]))
        white = [line.get_xdata() for line in figure.axes[0].lines if line.get_markerfacecolor() == "w"]
        assert np.isfinite([*white, [np.nan] * 2]).any(axis=0).tolist() == hollow and cut == []
        assert ("hollow" in figure._supxlabel.get_text()) is any(hollow)


@pytest.mark.parametrize("models", [2, 20])
def test_comparisons_are_drawn_of_one_benchmark_alone_and_of_many_models(models):
    names = [f"model-{place}" for place in range(models)]
    pairs = pd.DataFrame(
        [
            {"model": one, "other_model": two, "benchmark": "twbias", "measure": "own_group_advantage", "part": None}
            for place, one in enumerate(names)
            for two in names[place + 1 :]
        ]
    ).assign(category="overall", metric="difference", value=0.1, ci_low=0.0, ci_high=0.2, verdict="undecided")
    figure, cut = saved(draw_pairs(pairs.assign(smallest=0.1), styles(names)))
    assert set(names[1:]) <= set(words(figure).split("\n")) and cut == []
    assert "Nothing to draw" in words(draw_pairs(pairs.assign(smallest=0.1, value=np.nan), styles(names)))
    universe = pairs.drop_duplicates("model").assign(specification=["as stated", *["half"] * (len(names) - 2)])
    figure, cut = saved(draw_multiverse(universe, {("twbias", "own_group_advantage"): 0.0}, styles(names)))
    assert set(universe["model"]) <= set(words(figure).split("\n")) and cut == []
    assert "Nothing to draw" in words(draw_multiverse(universe.assign(value=np.nan), {}, styles(names)))


def framed(models: list[str], numbers: int) -> pd.DataFrame:
    """What numbers vary with: of each model, and of all where there are several."""
    shares = {"model": 50.0, "framing": 30.0, "items": 20.0}
    parts = [(name, source) for name in models for source in shares if name == "" or source != "model"]
    rows = [
        {"model": name, "benchmark": "mine", "measure": "shift", "part": None, "category": f"level_{number}"}
        | {"source": source, "metric": metric, "value": value, "ci_low": low, "ci_high": 9 * low}
        for number in range(numbers)
        for name, source in parts
        for metric, value, low in (
            ("spread", shares[source] ** 0.5 + number, 1.0),
            ("variance_share", shares[source], np.nan),
        )
    ]
    return pd.DataFrame(rows).assign(unit="scenario")


@pytest.mark.parametrize("models", [1, 2, 20])
def test_what_numbers_vary_with_is_drawn_of_any_number_of_models(models):
    names = [f"model-{place}" for place in range(models)]
    table = framed(names + [""] * (models > 1), 12)
    figure, cut = saved(draw_framings(table, styles(names)))
    said = words(figure).split("\n")
    assert len(figure.axes) == 9 and cut == [] and {"framing", "items", "30%", "20%"} <= set(said)
    assert ({"all models", "model"} if models > 1 else {"model-0"}) <= set(said) and "model-1" not in said
    (interval,) = {tuple(part.get_segments()[0][:, 0]) for axis in figure.axes for part in axis.collections}
    assert interval == (1, 9)


def test_a_category_alone_is_not_drawn_twice():
    table = framed(["a"], 1)
    figure, _ = saved(draw_framings(pd.concat([table.assign(category="overall"), table]), styles(["a"])))
    assert [axis.get_title("left") for axis in figure.axes] == ["mine: shift\nlevel 0"]


def test_what_numbers_vary_with_is_drawn_of_each_model_where_nothing_is_over_all():
    figure, cut = saved(draw_framings(framed(["a", "b"], 1), styles(["a", "b"])))
    assert {"a", "b"} <= set(words(figure).split("\n")) and cut == []


@pytest.mark.parametrize("rows", [0, 1])
def test_where_no_number_was_asked_in_several_framings_the_figure_says_so(rows):
    figure = draw_framings(framed(["a"], 1).iloc[:rows], styles(["a"]))
    assert "Nothing to draw: no number was asked in several framings" in words(figure)


@pytest.mark.parametrize("models", [1, 20])
def test_dbb_beside_bbq_is_drawn_of_any_number_of_models(models):
    names = [f"model-{place}" for place in range(models)]
    keys = {"bbq_template": "Age/1", "category": "Age", "concept_1": "a", "concept_2": "b"}
    matched = pd.DataFrame(
        [keys | {"model": m, "metric": n, "value": 5.0} for m in names for n in ("dbb_score", "bbq_bias")]
    )
    shares = pd.DataFrame(
        [
            {"model": m, "bbq": bbq, "score_low": low, "value": 0.1, "ci_low": 0.05, "ci_high": 0.2}
            for m in names
            for bbq in ("no bias", "bias")
            for low in range(0, 100, 10)
        ]
    )
    for draw, table in ((draw_match, matched), (draw_distribution, shares)):
        figure, cut = saved(draw(table, styles(names)))
        assert [axis.get_title() for axis in figure.axes] == names and cut == []
        assert "Nothing to draw" in words(draw(table[:0], styles(names)))
