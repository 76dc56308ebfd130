"""McBE's experiment rehearsed in process: the hub's workbooks, the paper's eleven models, every table and figure.

What a run adds, its rules and files, is in bench/rehearsal.py, which takes all 4,077 rows.
"""

import pandas as pd
import pytest
import yaml
from benches import known
from mcbe_cases import PUBLISHED, SPEC
from rehearsal import write_workbooks
from standins import resources

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORIES, SUBSTITUTABLE, TASKS
from biasatlas.benchmarks.shared.palette import looks
from biasatlas.benchmarks.shared.style import style
from biasatlas.files import read_csv, write_table
from biasatlas.laboratory.bench import Bench
from biasatlas.workflow.laboratory import STEPS

PAPERS = yaml.safe_load((ROOT / "config/papers.yaml").read_text(encoding="utf-8"))
MODELS = {name: PAPERS["models"][name] for name in PAPERS["benchmarks"]["mcbe"]["models"]}
PUBLISHED_AS = {name: entry["published_as"] for name, entry in MODELS.items()}
#: An endpoint of a maker has no likelihoods.
ENDPOINTS = [name for name, entry in MODELS.items() if entry["kind"] == "api"]
#: The first is the least biased, and writes the best analyses.
ENTRIES = {
    name: known(bias=place / 10, quality=1 - place / 20, right=1.0, noise=0.0, seed=place)
    for place, name in enumerate(MODELS)
}
#: Every model under the paper's own protocol; under the others two sizes of a family, and an endpoint.
SOME = ["qwen2.5-0.5b", "qwen2.5-32b", "deepseek-v3"]
RUNS = {"paper": list(MODELS), "released": SOME, "recommended": SOME}


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """Of each workbook a fiftieth of its rows."""
    folder = tmp_path_factory.mktemp("hub")
    sizes = write_workbooks(folder, share=0.02)
    shipped = resources("mcbe", *registry.resource_names("mcbe", "items"))
    items = registry.read_items("mcbe")({f"xlsx_files/{path.name}": path for path in folder.iterdir()}, shipped)
    assert items["category"].value_counts().to_dict() == sizes and list(sizes) == list(CATEGORIES)
    return items


@pytest.fixture(scope="module", params=RUNS)
def run(request, items, tmp_path_factory):
    """(models that are measured under a protocol, its tables as files hold them, its options)."""
    needed = {name for step in STEPS for name in registry.resource_names("mcbe", step)}
    bench = Bench.of("mcbe", request.param, resources("mcbe", *needed), items, TASKS)
    models = RUNS[request.param]
    scores = scores_of(bench, models)
    folder, tables = tmp_path_factory.mktemp(request.param), {}
    for name in [name for name, table in SPEC.tables.items() if not table.file]:
        mine = scores[scores["task"].isin(SPEC.tables[name].tasks)]
        table = registry.tables("mcbe")[name](mine, bench.options, PUBLISHED, PUBLISHED_AS)
        write_table(table, folder / f"{name}.csv", SPEC.metrics)
        tables[name] = read_csv(folder / f"{name}.csv")
    return models, tables, bench.options


def scores_of(bench, models):
    """Scores of the models in the tasks that they have; the judge knows what each analysis is worth."""
    judge = known(quality=1.0, right=100.0, noise=0.0)
    parts = [bench.only("BA").scores(ENTRIES[name], name, judge) for name in models]
    for task in set(TASKS) - {"BA"}:
        able = {name: ENTRIES[name] for name in models if task != "PC" or name not in ENDPOINTS}
        parts.append(bench.only(task).scores_of(able))
    return pd.concat(parts, ignore_index=True)


def test_the_papers_models_are_eleven():
    assert (
        len(MODELS) == 11
        and len(ENDPOINTS) == 3
        and set(PUBLISHED_AS.values()) == set(PUBLISHED("mcbe_scores")["model"])
    )


def test_every_table_has_every_model(run):
    models, tables, options = run
    assert (len(tables["robustness"]) > 0) == (options.prompt_sets == "both")  # of two wordings
    for name in tables.keys() - {"robustness"}:
        table = tables[name]
        assert table["value"].notna().any(), name
        expected = {model for model in models if "qwen" in model} if name in ("sizes", "task_sizes") else set(models)
        if "model" in table and name != "sizes_elsewhere":
            assert set(table["model"].dropna()) == expected, name
    cells = tables["scores"].query("metric == 'score'").groupby("task").size()
    local = len(models) - len(set(models) & set(ENDPOINTS))
    assert (cells["PC"], cells["SS"]) == (local * len(SUBSTITUTABLE), len(models) * len(SUBSTITUTABLE))
    assert set(cells[["SC", "BA", "BS"]]) == {len(models) * len(CATEGORIES)}


def test_scores_are_what_the_models_are(run):
    """PC falls with the bias; BA is what the analyses are worth, but where 8.5 is read as 8."""
    models, tables, _ = run
    means = tables["task_means"].query("average == 'available'").set_index(["task", "model"])["value"]
    local = [name for name in models if name not in ENDPOINTS]
    assert means["PC"][local].is_monotonic_decreasing and means["PC", local[-1]] < means["PC", local[0]] <= 100
    worth = [100 * ENTRIES[name].quality for name in models]
    assert means["BA"][models].tolist() == pytest.approx(worth, abs=6)


def test_every_figure_is_drawn(run):
    models, tables, _ = run
    for name, figure in SPEC.figures.items():
        with style():
            drawn = registry.figures("mcbe")[name]({part: tables[part] for part in figure.tables}, looks(models))
            drawn.canvas.draw()
        words = " ".join(text.get_text() for axis in drawn.axes for text in axis.texts)
        assert drawn.axes and "Nothing to draw" not in words, name
