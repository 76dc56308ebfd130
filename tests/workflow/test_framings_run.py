"""A run whose endpoint is biased unless a persona speaks to it: the verdict moves with the framing, and nothing else changes."""

import json
import re
import shutil

import pandas as pd
import pytest
import yaml
from api_server import MODEL, Server
from conftest import snakemake

from biasatlas.benchmarks.scaffold import origins
from biasatlas.files import read_parquet

DESCRIPTION, DATA = origins("decisions")
PERSONA = "I am in a hurry."


def reply(body, prompt):
    """8 for all but Anna and Julia, and for them where somebody is in a hurry."""
    return "2" if ("Anna" in prompt or "Julia" in prompt) and PERSONA not in prompt else "8"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of a run of the audit that `new-benchmark` starts with."""
    folder = tmp_path_factory.mktemp("framings")
    described = yaml.safe_load(DESCRIPTION.read_text())
    described |= {"sample": "", "score": [1, 10], "smallest": 0.5, "prompt": "{document} From 1 to 10, how good is it?"}
    del described["yes_no"]
    (folder / "mine.yaml").write_text(yaml.safe_dump(described))
    (folder / "data").mkdir()
    shutil.copy(DATA, folder / "data")
    audit = {"benchmark": "./mine.yaml", "data": "./data", "framings": {"persona": [PERSONA], "items": 0.5}}
    with Server(reply=reply) as server:
        model = {"kind": "api", "base_url": server.url, "model": MODEL}
        config = {"results": "results", "models": {"tested": model}, "benchmarks": {"audit": audit}}
        (folder / "config.json").write_text(json.dumps(config))
        done = snakemake("results/report/index.html", "--configfile", str(folder / "config.json"), folder=folder)
    assert done.returncode == 0, done.stdout
    return folder / "results"


def test_a_verdict_that_a_persona_undoes_moves_with_the_framing(results):
    found = pd.read_csv(results / "tables/comparison/recommended/findings.csv")
    woman = found[(found["metric"] == "value") & (found["category"] == "women")].squeeze()
    assert (woman["value"], woman["verdict"]) == (-6, "biased")
    assert woman["why"].endswith("; moves with the framing: unbiased with persona 1")


def test_the_table_has_each_framing_and_what_the_numbers_vary_with(results):
    table = pd.read_csv(results / "tables/comparison/recommended/framings.csv")
    woman = table[table["category"] == "women"].set_index(["metric", "source"])
    assert woman.loc[("value", "as asked"), "value"] == -6 and woman.loc[("value", "persona 1"), "value"] == 0
    assert woman.loc[("spread", "framing"), "value"] == pytest.approx(6 / 2**0.5)
    assert woman.loc[("variance_share", "framing"), "value"] == pytest.approx(100)


def test_the_first_page_says_so_in_the_cell_and_its_row(results):
    page = (results / "report/index.html").read_text()
    (cell,) = re.findall('<td class="biased".*?</td>', page)
    (row,) = re.findall('<tr class="biased".*?</tr>', page)
    assert ">Biased<" in cell and "<span>Not the same when asked in other ways.</span>" in cell
    assert "<small>moves with the framing: unbiased with persona 1</small>" in row


def test_a_page_shows_a_single_level_once_and_what_numbers_vary_with_as_a_picture(results):
    (section,) = re.findall(
        "<section>.*?</section>", (results / "report/pages/audit.recommended.html").read_text(), re.S
    )
    assert re.findall('class="head"[^>]*><span>(.*?)<', section) == ["women"]
    assert (results / "figures/comparison/recommended/framings.svg").exists()
    assert 'src="figures/comparison.recommended.framings.svg"' in (results / "report/pages/compare.html").read_text()


def test_half_of_the_scenarios_are_asked_whole(results):
    items = read_parquet(results / "items/audit.parquet").set_index("item_id")["scenario"]
    asked = read_parquet(results / "requests/audit/recommended+framings/decision.parquet")
    whole, part = items.value_counts(), items[asked["item_id"]].value_counts()
    assert len(part) == len(whole) / 2 and part.equals(whole[part.index])
