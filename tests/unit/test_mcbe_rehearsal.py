"""McBE's experiment rehearsed in process: the hub's workbooks, the paper's eleven models, every table and figure."""

import pandas as pd
import pytest
import yaml
from benches import simulated
from mcbe_cases import PUBLISHED, SPEC
from rehearsal import write_workbooks
from standins import resources

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.mcbe import CATEGORIES, SUBSTITUTABLE, TASKS
from biasatlas.benchmarks.shared.plots import style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv, write_table
from biasatlas.simulation.harness import Harness
from biasatlas.workflow.selection import EXPERIMENT_STEPS

PAPERS = yaml.safe_load((ROOT / "config/papers.yaml").read_text(encoding="utf-8"))
MODELS = {name: PAPERS["models"][name] for name in PAPERS["benchmarks"]["mcbe"]["models"]}
PUBLISHED_AS = {name: entry["published_as"] for name, entry in MODELS.items()}
#: An endpoint of a maker has no likelihoods.
ENDPOINTS = [name for name, entry in MODELS.items() if entry["kind"] == "api"]
#: The first is the least biased, and writes the best analyses.
ENTRIES = {
    name: simulated(bias=place / 10, quality=1 - place / 20, right=1.0, noise=0.0, seed=place)
    for place, name in enumerate(MODELS)
}


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """Of each workbook a hundredth of its rows, but six at least."""
    folder = tmp_path_factory.mktemp("hub")
    sizes = write_workbooks(folder, share=0.01)
    shipped = resources("mcbe", *registry.resource_names("mcbe", "items"))
    items = registry.read_items("mcbe")({f"xlsx_files/{path.name}": path for path in folder.iterdir()}, shipped)
    assert items["category"].value_counts().to_dict() == sizes and list(sizes) == list(CATEGORIES)
    return items


@pytest.fixture(scope="module", params=["paper", "released", "recommended"])
def run(request, items, tmp_path_factory):
    """The tables of a protocol as files hold them, and its options."""
    needed = {name for step in EXPERIMENT_STEPS for name in registry.resource_names("mcbe", step)}
    bench = Harness.of("mcbe", request.param, resources("mcbe", *needed), items, TASKS)
    scores = scores_of(bench)
    folder, tables = tmp_path_factory.mktemp(request.param), {}
    for name in [name for name, table in SPEC.tables.items() if not table.file]:
        mine = scores[scores["task"].isin(SPEC.tables[name].tasks)]
        table = registry.tables("mcbe")[name](mine, bench.options, PUBLISHED, PUBLISHED_AS)
        write_table(table, folder / f"{name}.csv", SPEC.metrics)
        tables[name] = read_csv(folder / f"{name}.csv")
    return tables, bench.options


def scores_of(bench):
    """Scores of the models in the tasks that they have; the judge knows what each analysis is worth."""
    judge = simulated(quality=1.0, right=100.0, noise=0.0)
    local = {name: entry for name, entry in ENTRIES.items() if name not in ENDPOINTS}
    parts = [bench.only(task).scores_of(local if task == "PC" else ENTRIES, judge) for task in TASKS]
    return pd.concat(parts, ignore_index=True)


def test_the_papers_models_are_eleven():
    assert (
        len(MODELS) == 11
        and len(ENDPOINTS) == 3
        and set(PUBLISHED_AS.values()) == set(PUBLISHED("mcbe_scores")["model"])
    )


def test_every_table_has_every_model(run):
    tables, options = run
    assert (len(tables["robustness"]) > 0) == (options.prompt_sets == "both")  # of two prompt templates
    for name in tables.keys() - {"robustness"}:
        table = tables[name]
        assert table["value"].notna().any(), name
        expected = {model for model in MODELS if "qwen" in model} if name in ("sizes", "task_sizes") else set(MODELS)
        if "model" in table and name != "sizes_elsewhere":
            assert set(table["model"].dropna()) == expected, name
    cells = tables["scores"].query("metric == 'score'").groupby("task").size()
    local = len(MODELS) - len(ENDPOINTS)
    assert (cells["PC"], cells["SS"]) == (local * len(SUBSTITUTABLE), len(MODELS) * len(SUBSTITUTABLE))
    assert set(cells[["SC", "BA", "BS"]]) == {len(MODELS) * len(CATEGORIES)}


def test_scores_are_what_the_models_are(run):
    """PC falls with the bias; BA is what the analyses are worth, but where 8.5 is read as 8."""
    tables, _ = run
    means = tables["task_means"].query("average == 'available'").set_index(["task", "model"])["value"]
    local = [name for name in MODELS if name not in ENDPOINTS]
    assert means["PC"][local].is_monotonic_decreasing and means["PC", local[-1]] < means["PC", local[0]] <= 100
    worth = [100 * entry.quality for entry in ENTRIES.values()]
    assert means["BA"][list(MODELS)].tolist() == pytest.approx(worth, abs=6)


def test_every_figure_is_drawn(run):
    tables, options = run
    for name, figure in SPEC.figures.items():
        with style():
            drawn = registry.figures("mcbe")[name]({part: tables[part] for part in figure.tables}, styles(list(MODELS)))
            if options.templates == "paper":  # laid out, too, which takes as long and does not depend on the protocol
                drawn.draw_without_rendering()
        words = " ".join(text.get_text() for axis in drawn.axes for text in axis.texts)
        assert drawn.axes and "Nothing to draw" not in words, name
