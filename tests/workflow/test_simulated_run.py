"""Simulated models through the whole workflow: a benchmark from its configuration to the report, and one with a judge."""

import hashlib
import importlib
import json
import uuid
import zipfile
from contextlib import chdir
from importlib import resources
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml
from artefacts import artefacts, disagreements, every
from conftest import ROOT, snakemake
from huggingface_hub.repocard_data import model_index_to_eval_results
from jsonschema.validators import validator_for
from needs import needs

from biasatlas.errors import UserError
from biasatlas.workflow.config import load_config
from biasatlas.workflow.exchange import export_results

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
CONFIG = {
    "results": "results",
    "models": {
        "fair": {"kind": "simulated", "noise": 0.0, "nats_per_token": 0.0, "right": 1000.0},
        "biased": {"kind": "simulated", "noise": 1e-6, "bias": 100.0, "quality": 1.0},
        "silent": {"kind": "simulated", "refused": 1.0},
    },
    "benchmarks": {
        "crows_pairs": {"data": "sample", "models": ["fair", "biased"]},
        "bbq": {"data": "sample"},
        "mcbe": {
            "data": "sample",
            "categories": ["gender"],
            "tasks": ["PC", "BA"],
            "judge": "fair",
            "models": ["biased"],
        },
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of CrowS-Pairs and BBQ to the report, and of McBE to its scores."""
    folder = tmp_path_factory.mktemp("simulated")
    path = folder / "config.json"
    benchmarks = {name: CONFIG["benchmarks"][name] for name in ("crows_pairs", "bbq")}
    path.write_text(json.dumps(CONFIG | {"benchmarks": benchmarks}))
    done = snakemake("--configfile", str(path), folder=folder)
    assert done.returncode == 0, done.stdout
    path.write_text(json.dumps(CONFIG))
    done = snakemake("results/tables/mcbe/recommended/scores.csv", "--configfile", str(path), folder=folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def crates(folder):
    """The results, described as a crate and in Croissant."""
    benchmarks = {name: CONFIG["benchmarks"][name] for name in ("crows_pairs", "bbq")}
    with chdir(folder):
        list(export_results(load_config(CONFIG | {"benchmarks": benchmarks}), ["rocrate", "croissant"]))
    return folder / "results"


def table(folder, name):
    return pd.read_csv(folder / f"results/tables/{name}.csv")


def test_a_fair_and_a_biased_model_score_what_theory_says(folder):
    for name in ("scores", "prompted"):
        rows = table(folder, f"crows_pairs/recommended/{name}").query("category == 'overall' and direction == 'all'")
        found = rows[rows["metric"] == "stereotype_score"].set_index("model")["value"].to_dict()
        assert found == {"fair": 50, "biased": 100}
    page = (folder / "results/report/pages/model-biased.html").read_text()
    assert "Answers by a stated formula; bias 100 in log odds, seed 1" in page


def test_the_models_are_compared_tested_and_summarised(folder):
    """On the same pairs they differ by 50; the score has no null, and the shift of the fair one is the same in every pair."""
    pairs = table(folder, "comparison/recommended/pairs").query(
        "benchmark == 'crows_pairs' and part == 'pair' and measure == 'stereotype_score'"
    )
    numbers = pairs.query("category == 'overall'").set_index("metric")["value"]
    assert (numbers["difference"], numbers["flipped"]) == (-50, 100)
    found = table(folder, "comparison/recommended/findings").query("benchmark == 'crows_pairs'")
    assert set(found[found["measure"] == "stereotype_score"]["verdict"]) == {"untestable"}
    shift = found[found["measure"] == "balanced_shift"].set_index("model")["verdict"]
    assert shift.to_dict() == {"fair": "untestable", "biased": "biased"}
    said = json.loads((folder / "results/summary/biased.json").read_text())
    assert {row["verdict"] for row in said["untestable"]} == {"untestable"} and said["untestable"]
    assert "## Untestable" in (folder / "results/summary/biased.md").read_text()


def test_the_numbers_in_formats_of_others_pass_their_validators(folder, monkeypatch):
    """Every number with a value, its interval and n as in the table; what is two-sided also as a distance from neutral."""
    benchmarks = {name: CONFIG["benchmarks"][name] for name in ("crows_pairs", "bbq")}
    config = load_config(CONFIG | {"benchmarks": benchmarks})
    monkeypatch.chdir(folder)
    said = list(export_results(config, ["eee", "hf"]))
    schema = json.loads((ROOT / "tests/schemas/every_eval_ever.json").read_text())
    validator = validator_for(schema)(schema)
    files = sorted((folder / "results/export/eee").rglob("*.json"))
    results = []
    for path in files:
        data = json.loads(path.read_text())
        assert [fault.message for fault in validator.iter_errors(data)] == []
        assert uuid.UUID(path.stem).version == 4
        results += [(data["model_info"]["name"], result) for result in data["evaluation_results"]]
    assert len(files) == 5 and said[0].startswith("results/export/eee: 5 files with ")
    assert said[2:] == ["silent, BBQ (recommended): headlines lack a value: no answer has a value: refused"]
    assert len({result["evaluation_result_id"] for _, result in results}) == len(results)
    rows = table(folder, "crows_pairs/recommended/scores").query("model == 'biased' and value.notna()")
    ours = [
        (result["score_details"]["score"], result["score_details"]["details"]["n"])
        for model, result in results
        if model == "biased"
        and result["evaluation_name"].startswith("crows_pairs/recommended/scores/")
        and not result["metric_config"]["metric_name"].endswith("_distance")
    ]
    assert ours == [(row.value, str(row.n)) for row in rows.itertuples()]
    bounds = [result["score_details"].get("uncertainty") for _, result in results]
    assert all(each["confidence_interval"]["lower"] <= each["confidence_interval"]["upper"] for each in bounds if each)
    distances = [result for _, result in results if result["metric_config"]["lower_is_better"]]
    assert distances and all(result["score_details"]["score"] >= 0 for result in distances)
    card = yaml.safe_load((folder / "results/export/hf/biased.yaml").read_text())
    name, evaluations = model_index_to_eval_results(card["model-index"])
    headlines = {each.metric_type for each in evaluations}
    assert name == "biased" and {"stereotype_score", "bias_score"} <= headlines
    with pytest.raises(UserError, match="'mlflow' is not a format; expected one of eee, hf, rocrate, croissant"):
        list(export_results(config, ["mlflow"]))
    models = CONFIG["models"] | {"late": {"kind": "simulated"}}
    more = load_config(CONFIG | {"benchmarks": {"bbq": {"data": "sample"}}, "models": models})
    assert "late, BBQ (recommended): headlines lack a value: not run, or a job failed" in list(
        export_results(more, ["hf"])
    )


@needs("validators")
@pytest.mark.parametrize(
    "profile", ["ro-crate-1.1", "process-run-crate-0.5", "workflow-ro-crate-1.0", "workflow-run-crate-0.5"]
)
def test_a_crate_passes_the_validator_of_its_profiles(crates, profile, monkeypatch):
    """With the context that RO-Crate 1.1 publishes, which the validator would fetch."""
    http = importlib.import_module("rocrate_validator.utils.http")
    services, context = (
        importlib.import_module("rocrate_validator.services"),
        resources.files("rocrate") / "data/ro-crate.jsonld",
    )
    published = context.read_text()
    assert json.loads(published)["@id"] == CONTEXT

    def get(url, *_, **__):
        assert url == CONTEXT
        headers = {"Content-Type": "application/ld+json"}
        return SimpleNamespace(status_code=200, json=lambda: json.loads(published), headers=headers)

    monkeypatch.setattr(http.HttpRequester, "get", staticmethod(get), raising=False)
    loader = importlib.import_module("rdflib.plugins.shared.jsonld.context")
    load = loader.source_to_json
    monkeypatch.setattr(
        loader,
        "source_to_json",
        lambda source, *given, **named: (
            (json.loads(published), None) if source == CONTEXT else load(source, *given, **named)
        ),
    )
    level = importlib.import_module("rocrate_validator.models").Severity.REQUIRED
    given = {"rocrate_uri": crates, "profile_identifier": profile, "requirement_severity": level}
    found = services.validate(services.ValidationSettings(**given))
    assert found.passed(), [issue.message for issue in found.get_issues()]


@needs("validators")
def test_croissant_reads_back_every_row_of_a_table(crates):
    mlcroissant = importlib.import_module("mlcroissant")
    data = mlcroissant.Dataset(jsonld=crates / "croissant.json")
    name = "tables/crows_pairs/recommended/scores"
    rows = pd.read_csv(crates / f"{name}.csv")
    found = pd.DataFrame(list(data.records(name))).rename(columns=lambda column: column.removeprefix(f"{name}/"))
    assert found["value"].astype(float).tolist() == pytest.approx(rows["value"].tolist(), nan_ok=True)
    assert list(found) == list(rows)


def identifiers(value):
    """Every `@id` that a JSON-LD value points to."""
    if isinstance(value, list):
        return [name for each in value for name in identifiers(each)]
    if isinstance(value, dict):
        return [value["@id"]] if value.keys() == {"@id"} else identifiers(list(value.values()))
    return []


def test_a_crate_and_croissant_describe_every_table_by_its_bytes(folder, monkeypatch):
    benchmarks = {name: CONFIG["benchmarks"][name] for name in ("crows_pairs", "bbq")}
    monkeypatch.chdir(folder)
    said = list(export_results(load_config(CONFIG | {"benchmarks": benchmarks}), ["rocrate", "croissant"]))
    tables = {path for name in benchmarks for path in (folder / "results/tables" / name).rglob("*.csv")}
    assert f"{len(tables)} tables" in said[0] and f"{len(tables)} files" in said[1]
    crate = json.loads((folder / "results/ro-crate-metadata.json").read_text())
    entities = {each["@id"]: each for each in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])
    assert {name for name in identifiers(crate["@graph"]) if not name.startswith("http")} <= entities.keys()
    assert {"name", "description", "datePublished", "license", "mainEntity"} <= entities["./"].keys()
    files = {name: each for name, each in entities.items() if "File" in each["@type"]}
    assert all((folder / "results" / name).is_file() for name in files)
    assert {name for name in files if name.endswith(".csv")} == {
        path.relative_to(folder / "results").as_posix() for path in tables
    }
    assert set(identifiers(entities["#run"]["result"])) == {name for name in files if name.startswith("tables/")}
    assert entities["#run"]["startTime"] <= entities["#run"]["endTime"]
    assert {name for name in identifiers(entities["#run"]["object"]) if "data-" in name}, "the data are named"
    assert '"bias": 100.0' in entities["#model-biased"]["description"]
    croissant = json.loads((folder / "results/croissant.json").read_text())
    assert croissant["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    for file, records in zip(croissant["distribution"], croissant["recordSet"], strict=True):
        path = folder / "results" / file["contentUrl"]
        assert file["sha256"] == files[file["@id"]]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        columns = [field["source"]["extract"]["column"] for field in records["field"]]
        assert columns == path.read_text().partition("\n")[0].split(",")
        kinds = {field["name"]: field["dataType"] for field in records["field"]}
        assert kinds["value"] == "sc:Float" and kinds["metric"] == "sc:Text"


def test_every_artefact_says_the_same_of_every_claim(folder):
    results = folder / "results"
    assert disagreements(results, "recommended") == []
    # A table of more than 150 rows is a zip alone.
    tables = {f"findings {ending}" for ending in ("csv", "md", "tex", "json")} | {"pairs csv.zip"}
    pages = {"first page", "grid", "page", "numbers", "benchmark page", "compare"}
    assert artefacts(results, "recommended") == pages | tables | {"summary json", "summary md", "summary tex"}


def test_no_artefact_calls_a_fair_model_biased(folder):
    results = folder / "results"
    said = {claim.verdict for key, claim in every(results, "recommended") if key[0] == "fair" and len(key) == 5}
    assert said and said <= {"unbiased", "undecided", "untestable"}
    for path in (results / "summary/fair.md", results / "report/pages/model-fair.html"):
        assert "biased by at least" not in path.read_text()


EXPORT, PAGES = "report/pages/exports/comparison.recommended", "report/pages"
#: Artefact, its file, what is put in place of what: a word, a number or a unit that the findings do not have.
FALSE = [
    ("findings csv", f"{EXPORT}.findings.csv", ",biased,", ",unbiased,"),
    ("findings csv", f"{EXPORT}.findings.csv", ",100.0,", ",100.1,"),
    ("findings csv", f"{EXPORT}.findings.csv", ",nats,", ",points,"),
    ("findings json", f"{EXPORT}.findings.json", '"nats"', '"points"'),
    ("findings md", f"{EXPORT}.findings.md", " 100 ", " 99.9 "),
    ("findings md", f"{EXPORT}.findings.md", "| nats |", "| points |"),
    ("findings tex", f"{EXPORT}.findings.tex", " 100 ", " 99.9 "),
    ("findings tex", f"{EXPORT}.findings.tex", "& 0.25 &", "& 2.5 &"),
    ("pairs csv.zip", f"{EXPORT}.pairs.csv.zip", ",biased,", ",unbiased,"),
    ("pairs csv.zip", f"{EXPORT}.pairs.csv.zip", ",nats,", ",points,"),
    ("summary json", "summary/biased.json", '"nats"', '"points"'),
    ("summary md", "summary/biased.md", "## Untestable", "## Biased"),
    ("summary md", "summary/biased.md", "by at least 0.25 nats", "by at least 0.25 points"),
    ("summary md", "summary/biased.md", " nats [", " points ["),
    ("summary tex", "summary/biased.tex", ": 100 ", ": 90 "),
    ("page", f"{PAGES}/model-biased.html", "at least 0.25 nats</span>", "at least 0.25 points</span>"),
    ("page", f"{PAGES}/model-biased.html", ">100.00</a>", ">100.01</a>"),
    ("numbers", f"{PAGES}/numbers.html", 'data-said="biased by at least 0.25', 'data-said="biased by at least 2.5'),
    ("numbers", f"{PAGES}/numbers.html", "</i>100.00<", "</i>100.01<"),
    ("numbers", f"{PAGES}/numbers.html", "<i>biased: ", "<i>unbiased: "),
    ("benchmark page", f"{PAGES}/crows_pairs.recommended.html", 'class="cell biased"', 'class="cell unbiased"'),
    ("benchmark page", f"{PAGES}/crows_pairs.recommended.html", "</i>100.00<", "</i>100.01<"),
    ("first page", "report/index.html", "</td><td><b>Biased</b>", "</td><td><b>Undecided</b>"),
    ("first page", "report/index.html", "threshold 1.3×", "threshold 13×"),
    ("grid", "report/index.html", '"><b>Biased</b>', '"><b>Undecided</b>'),
    ("compare", f"{PAGES}/data/headlines.js", "by at least 0.25 nats", "by at least 0.25 points"),
    ("compare", f"{PAGES}/data/headlines.js", '"value":100', '"value":99'),
    # Why a number is missing.
    ("findings csv", f"{EXPORT}.findings.csv", "value: refused", "value: failed"),
    ("summary json", "summary/silent.json", "value: refused", "value: failed"),
    ("summary md", "summary/silent.md", "value: refused", "value: failed"),
    ("page", f"{PAGES}/model-silent.html", "value: refused", "value: failed"),
    ("numbers", f"{PAGES}/numbers.html", "value: refused", "value: failed"),
    ("benchmark page", f"{PAGES}/bbq.recommended.html", "value: refused", "value: failed"),
    # Why there is no verdict of another.
    ("summary tex", "summary/fair.tex", "a scorer is broken", "all is well"),
    ("page", f"{PAGES}/model-fair.html", "a scorer is broken", "all is well"),
]


@pytest.mark.parametrize(("artefact", "name", "said", "instead"), FALSE)
def test_a_false_artefact_is_noticed(folder, artefact, name, said, instead):
    """The comparison itself can fail: at another word, number or unit in any one artefact."""
    path = folder / "results" / name
    known = path.read_bytes()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as file:
            (member,) = file.namelist()
            text = file.read(member).decode()
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(member, text.replace(said, instead))
    else:
        text = path.read_text()
        path.write_text(text.replace(said, instead))
    try:
        assert said in text
        assert artefact in {sentence.split(":")[0] for sentence in disagreements(folder / "results", "recommended")}
    finally:
        path.write_bytes(known)


def test_a_known_judge_grades_what_a_known_model_writes(folder):
    rows = table(folder, "mcbe/recommended/scores").query("metric == 'score'").set_index("task")["value"]
    assert rows["BA"] == 100
    assert rows["PC"] < 1
