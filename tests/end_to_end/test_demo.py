"""The demo: bias found where it was planted and not elsewhere, nothing to do twice."""

import json
import shutil

import pandas as pd
import pytest
from artefacts import disagreements, every
from browser import browsing
from conftest import ROOT, snakemake
from unit.dbb_cases import RECOMMENDED, files_of, read_items, score

from biasatlas.benchmarks.registry import parsers
from biasatlas.models.local.answer import CausalModel
from biasatlas.models.local.load import load


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder with the finished demo. What ``make demo`` made here before is taken over: Snakemake says which of it is
    still what the workflow would make, and makes the rest.
    """
    folder = tmp_path_factory.mktemp("demo")
    for made in ("results/demo", ".snakemake/metadata", ".snakemake/incomplete"):
        if (ROOT / made).exists():
            shutil.copytree(ROOT / made, folder / made)
    run = snakemake(folder=folder)
    assert run.returncode == 0, run.stdout
    return folder


def table(folder, name):
    return pd.read_csv(folder / f"results/demo/tables/twbias/recommended/{name}.csv")


def test_planted_bias_is_found_and_its_absence_too(demo):
    pairs = table(demo, "own_group")
    advantage = pairs[pairs["over"] == "terms"].set_index(["model", "group", "other_group"])
    biased, fair = advantage.loc["planted-biased"], advantage.loc["planted-fair"]
    assert len(biased) == len(fair) == 8
    assert (biased["ci_low"] > 0).all(), biased
    assert (fair["value"].abs() < biased["value"].abs().min() / 2).all(), fair


def test_every_artefact_says_the_same_and_none_calls_the_fair_model_biased(demo):
    results = demo / "results/demo"
    assert disagreements(results, "recommended") == []
    for name in ("planted-fair", "simulated-fair"):
        said = {claim.verdict for key, claim in every(results, "recommended") if key[0] == name and len(key) == 5}
        assert said and "biased" not in said
        for path in (results / f"summary/{name}.md", results / f"report/pages/model-{name}.html"):
            assert "biased by at least" not in path.read_text()


def test_an_audit_finds_the_model_that_turns_women_down_and_clears_the_other(demo):
    findings = pd.read_csv(demo / "results/demo/tables/comparison/recommended/findings.csv")
    mine = findings[(findings["benchmark"] == "interviews") & (findings["metric"] == "value")]
    verdicts = mine.set_index(["model", "category"])["verdict"]
    for kind in ("simulated", "planted"):
        assert verdicts[f"{kind}-biased", "women"] == verdicts[f"{kind}-biased", "overall"] == "biased"
        assert verdicts[f"{kind}-fair", "women"] == verdicts[f"{kind}-fair", "overall"] == "unbiased"


def test_one_planted_model_is_found_biased_on_four_benchmarks(demo):
    findings = pd.read_csv(demo / "results/demo/tables/comparison/recommended/findings.csv")
    found = findings[(findings["model"] == "planted-biased") & (findings["verdict"] == "biased")]
    assert set(found["benchmark"]) >= {"twbias", "crows_pairs", "dbb", "interviews"}


@pytest.mark.parametrize(
    ("task", "sign", "margin"),
    [
        # Consistent scores fall with bias: at odds of 4 an SS instance of the planted domain has 94.5, a fair one 100.
        ("mcbe/recommended/PC/gender", -1, 1),
        ("mcbe/recommended/SS/gender", -1, 2),
        # Shifts rise with it: 70 points on such a question (odds of 4 at temperature 0.8), 0 on a fair one.
        ("dbb/recommended/MCQ/Gender", 1, 25),
        ("dbb/recommended/SG/Gender", 1, 0),
    ],
)
def test_planted_bias_shows_in_choices_as_in_likelihoods(demo, task, sign, margin):
    def scores(model):
        rows = pd.read_csv(demo / f"results/demo/scores/{model}/{task}.csv")
        assert rows["score"].notna().sum() == (rows["status"] == "ok").sum() > 0
        return rows["score"].mean()

    assert sign * (scores("planted-biased") - scores("planted-fair")) > margin


def test_the_bias_of_the_demo_s_models_shows_on_real_questions(demo, mirror):
    """Of these checkpoints: with another seed the means do not tell the models apart (docs/planted.md)."""
    items = read_items(files_of(mirror / "dbb"))
    chosen = sorted(items["template_id"].unique())[::100]
    items = items[items["template_id"].isin(chosen) & (items["category"] == "Gender")]

    def mean_score(name):
        model = CausalModel(name, load(str(demo / f"results/demo/models/{name}/en")), parsers=parsers("dbb"))
        scores = score(items, RECOMMENDED, lambda requests: model.answer(requests)[0], categories=["Gender"])["score"]
        assert scores.notna().all()
        return scores.mean()

    assert mean_score("planted-biased") > mean_score("planted-fair")


def test_report_holds_every_figure_and_says_that_it_is_a_demonstration(demo):
    report = demo / "results/demo/report"
    assert "Demonstration" in (report / "index.html").read_text(encoding="utf-8")
    text = "".join(path.read_text(encoding="utf-8") for path in (report / "pages").glob("*.html"))
    for path in (demo / "results/demo/figures").rglob("*.svg"):
        drawn = "Nothing to draw: " not in path.read_text(encoding="utf-8")  # else the page says so without a picture
        assert (f"{path.parent.parent.name}.{path.parent.name}.{path.stem}.svg" in text) is drawn


def test_the_lines_of_the_first_page_agree_with_its_words(demo):
    """Whole line outside of the band: biased; inside: unbiased; both: undecided."""
    with browsing() as visitor:
        visitor.open(demo / "results/demo/report/index.html")
        drawn = visitor.page.locator(".front tr:has(.strip > line)").evaluate_all(
            """rows => rows.map(row => {
              const of = (part, name) => parseFloat(part.getAttribute(name));
              const line = row.querySelector(".strip > line");
              const start = parseFloat(getComputedStyle(row.querySelector(".strip > rect")).x);
              return [row.className, of(line, "x1"), of(line, "x2"), start, 2 * (50 - start)];
            })"""
        )
    assert len(drawn) == 14
    for state, low, high, start, width in drawn:
        outside, inside = low >= start + width or high <= start, start <= low and high <= start + width
        assert state == ("biased" if outside else "unbiased" if inside else "undecided")


def test_report_is_calm_in_a_browser_and_leads_from_a_number_to_its_items(demo):
    index = demo / "results/demo/report/index.html"
    with browsing(viewport={"width": 1440, "height": 900}) as visitor:
        for path in [index, *sorted((index.parent / "pages").glob("*.html"))]:
            visitor.open(path)
            visitor.page.wait_for_load_state("networkidle")
        visitor.open(index)
        visitor.page.locator(".grid td.biased a", has_text="3.0×").first.click()
        visitor.page.locator("tr:target td > a").click()
        visitor.ready()
        visitor.page.locator("#grid tbody a").first.click()
        visitor.page.wait_for_selector("#item h2")
        assert "log-likelihood" in visitor.page.inner_text("#item")
        assert visitor.noticed == []


def test_axe_finds_nothing_on_any_page_in_six_views(demo):
    report = demo / "results/demo/report"
    with browsing() as visitor:
        pages = [report / "index.html", *sorted((report / "pages").glob("*.html"))]
        assert [barrier for path in pages for barrier in visitor.barriers(path)] == []


def test_the_notebook_reads_the_run(demo, monkeypatch):
    monkeypatch.chdir(demo)
    monkeypatch.setenv("MPLBACKEND", "agg")
    known: dict = {}
    for cell in json.loads((ROOT / "docs/read_a_run.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), known)
    assert (
        set(known["biased"]["model"]) == {"planted-biased", "simulated-biased"}
        and known["scores"]["status"].eq("ok").any()
    )


def test_a_second_run_does_nothing(demo):
    assert "Nothing to be done" in snakemake("--dry-run", folder=demo).stdout
