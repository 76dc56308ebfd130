"""What rules ask the configuration, without Snakemake: wildcards are plain names, marks on paths are text."""

from types import SimpleNamespace as Wildcards

import pytest

from biasatlas.workflow.config import load_config
from biasatlas.workflow.construction_lookup import ConstructionLookup
from biasatlas.workflow.lookup import Lookup
from biasatlas.workflow.model_jobs import ModelJobs
from biasatlas.workflow.paths import File, Paths, files, filled
from biasatlas.workflow.plan import plan
from biasatlas.workflow.sites import site_tree
from biasatlas.workflow.targets import Targets

CONFIG = {
    "results": "results",
    "data": "data",
    "max_cost": 5,
    "models": {
        "planted": {"kind": "planted", "odds_ratio": 4},
        "judge": {"kind": "planted", "odds_ratio": 1, "seed": 2},
        "endpoint": {"kind": "api", "base_url": "http://127.0.0.1:9/v1", "model": "m"},
        "published": {"kind": "released", "benchmark": "crows_pairs", "release": "bert", "published_as": "BERT"},
    },
    "benchmarks": {
        "crows_pairs": {"data": "full", "protocols": ["recommended", "released"]},
        "bbq": {"data": "sample", "categories": ["Age"]},
        "mcbe": {"data": "sample", "judge": "judge", "categories": ["gender"], "files": {"annotations": "mine.csv"}},
        "dbb": {"data": "sample", "categories": ["Age"], "protocols": ["recommended", "paper"]},
    },
}
TABLE = Wildcards(benchmark="crows_pairs", protocol="recommended", table="scores")


def targets_of(partial="", present=lambda path: False, **sections):
    config = load_config(CONFIG | sections)
    return Targets(config, Paths(config.results, config.data), partial, present)


def lookup(*args, **sections):
    return Lookup(
        targets_of(*args, **sections), unchanged="ancient {}".format, local="local {}".format, source="source {}".format
    )


find = lookup()
jobs = ModelJobs(find.config, find.paths, unchanged="ancient {}".format, local="local {}".format)


def test_a_table_reads_the_scores_of_every_model_that_its_protocol_measures():
    inputs = find.table(TABLE)
    models = {path.split("/")[2] for path in inputs["scores"]}
    assert models == {"planted", "judge"}  # endpoints score no pairs; what is released stands under one protocol
    assert "results/task_scores/planted/crows_pairs/recommended/pair.parquet" in inputs["scores"]
    assert all(path.startswith("ancient source .snakemake/bias-atlas/") for path in inputs["resources"])
    assert inputs["own"] == inputs["checksums"] == []


def test_one_table_of_a_paper_needs_the_tables_that_compute_it():
    released = {"breeze": {"kind": "released", "benchmark": "twbias", "release": "Breeze-7B-Instruct-v0_1"}}
    run = lookup(models=released, benchmarks={"twbias": {"protocols": ["released"]}})
    part = Wildcards(benchmark="twbias", part="table-4")
    behind = ["results/replication/twbias/p_values_as_printed.svg"]
    assert list(run.part_tables(part)) == [("twbias", "gender")] and run.part_figures(part) == behind
    assert run.part_figures(Wildcards(benchmark="twbias", part="figure-4")) == []
    figure = Wildcards(benchmark="twbias", part="figure-5")
    assert run.part_figures(figure) == ["results/replication/twbias/ethnic_grid.svg"]
    seventh = Wildcards(benchmark="twbias", part="figure-7")
    assert run.part_figures(seventh) == behind
    # Of published outputs alone: under a protocol, all models would be asked that the configuration has.
    drawn = run.figure_tables(Wildcards(benchmark="twbias", figure="ethnic_grid"))
    assert [file.path for file in drawn.values()] == ["results/replication/{benchmark}/ethnicity.csv"]
    assert len(run.released_figures("twbias")) == 4
    assert {"gender", "attributes"} < {table for _, table in run.part_tables(Wildcards(benchmark="twbias", part="all"))}


def test_published_outputs_are_beside_no_table_where_their_protocol_is_not_asked_for():
    """`replicate` takes none then; else it would miss the scores, in words of Snakemake's."""
    released = {"breeze": {"kind": "released", "benchmark": "twbias", "release": "Breeze-7B-Instruct-v0_1"}}
    models = released | {"mine": {"kind": "simulated"}}
    run = lookup(models=models, benchmarks={"twbias": {"protocols": ["recommended"]}})
    assert "gender" not in {table for _, table in run.replicated_tables()} and run.released_figures("twbias") == []


def test_figures_call_published_outputs_by_their_published_name_where_one_alone_has_it():
    released = {
        "kind": "released",
        "benchmark": "twbias",
        "release": "Breeze-7B-Instruct-v0_1",
        "published_as": "Breeze",
    }
    run = lookup(models={"mine": released}, benchmarks={"twbias": {"protocols": ["released"]}})
    figure = Wildcards(benchmark="twbias", protocol="released", figure="ethnic_grid")
    assert run.drawn_as(figure) == {"mine": "Breeze"}
    both = lookup(models={"mine": released, "again": released}, benchmarks={"twbias": {"protocols": ["released"]}})
    assert both.drawn_as(figure) == {}


def test_what_a_model_is_asked_otherwise_is_told_to_its_tables():
    models = {**CONFIG["models"], "endpoint": {**CONFIG["models"]["endpoint"], "without": ["top_k"]}}
    table = Wildcards(benchmark="mcbe", protocol="recommended", table="scores")
    assert lookup(models=models).deviations(table) == {"endpoint": "asked without top_k"}
    assert find.deviations(table) == {}


def test_a_table_without_a_protocol_is_one_of_published_outputs():
    wildcards = Wildcards(benchmark="crows_pairs", table="scores")
    assert find.protocol(wildcards) == "released"
    assert find.models(wildcards) == ["published"]
    assert {path.split("/")[2] for path in find.table(wildcards)["scores"]} == {"published"}


def test_a_table_of_the_users_own_file_reads_that_file():
    assert (
        find.table(Wildcards(benchmark="mcbe", protocol="recommended", table="annotator_agreement"))["own"]
        == "mine.csv"
    )


def test_the_step_says_code_shipped_files_options_and_extras_in_one_value():
    value = find.step("tables", "summarise_scores", models=find.models, data="full")(TABLE)
    assert set(value) == {"code", "resources", "shipped", "options", "models", "data"}
    assert (value["models"], value["data"]) == (["planted", "judge", "endpoint"], "full")
    # Paths are the input's, in the same order: the names that the step has come back with them.
    paths = find.table(TABLE)["resources"]
    assert filled(value["resources"], paths) == {
        path.removeprefix("ancient source .snakemake/bias-atlas/"): path for path in paths
    }
    assert "local" not in repr(value)


def test_each_tree_of_a_step_is_filled_from_the_input_of_its_own_name():
    wildcards = Wildcards(benchmark="dbb")
    value = find.step("items", "read_items", raw=find.data_files)(wildcards)
    inputs = {
        name: find.files_for(tree)(wildcards)
        for name, tree in (("raw", find.data_files), ("resources", find.resources("items")))
    }
    assert len(inputs["resources"]) > 0
    for name, paths in inputs.items():
        tree = filled(value[name], paths)
        assert list(tree.values()) == paths
        assert all(path.endswith(key) for key, path in tree.items())


def test_the_options_of_a_step_are_those_that_can_change_it():
    wildcards = Wildcards(benchmark="crows_pairs", protocol="recommended", task="pair", figure="scores")
    requests = find.step("requests", "build_requests")(wildcards)["options"]
    scores = find.step("scores", "score_responses")(wildcards)["options"]
    assert requests.keys() < scores.keys()
    assert scores.keys() - requests.keys() >= {"ties"}
    assert find.step("", "draw_figure")(wildcards).keys() == {"code"}


def test_raw_data_are_sources_samples_or_the_users_folder(tmp_path):
    assert find.raw("crows_pairs") == {"crows_pairs": File("ancient data/crows_pairs")}
    assert find.raw_checksums("crows_pairs") == ["data/crows_pairs.sha256"]
    assert find.raw("bbq")["data/Age.jsonl"] == File("source .snakemake/bias-atlas/samples/bbq/data/Age.jsonl")
    assert find.raw_checksums("bbq") == []
    (tmp_path / "dev.json").write_text("{}")
    own = lookup(benchmarks=CONFIG["benchmarks"] | {"stereoset": {"data": f"{tmp_path}/"}})
    assert own.raw("stereoset") == {"dev.json": File(f"local {tmp_path}/dev.json")}


def test_templates_of_others_are_read_only_where_a_protocol_asks_in_them():
    names = {protocol: find.template_files("requests", "dbb", protocol) for protocol in ("recommended", "paper")}
    assert names["recommended"] == {}
    assert names["paper"]
    assert all(name.startswith("templates/") for name in names["paper"])
    wildcards = Wildcards(benchmark="dbb", protocol="paper", task="MCQ")
    assert find.template_checksums("requests")(wildcards)
    assert find.template_checksums("requests")(Wildcards(benchmark="dbb", protocol="recommended", task="MCQ")) == []


@pytest.mark.parametrize(
    ("role", "wildcards", "ready"),
    [
        ("model", Wildcards(model="endpoint"), ["results/models/endpoint.checked", "results/check.accepted"]),
        ("model", Wildcards(model="published"), ["ancient data/crows_pairs_bert", "data/crows_pairs_bert.sha256"]),
        ("judge", Wildcards(benchmark="mcbe"), ["results/models/judge/zh-Hans/model.safetensors"]),
    ],
)
def test_a_model_is_ready_once_all_that_opens_it_is_there(role, wildcards, ready):
    found = jobs.ready(role)(wildcards)
    assert found[: len(ready)] == ready


def test_the_resources_of_a_job_are_its_models():
    api = {name: need(Wildcards(model="endpoint"), {}, 1) for name, need in jobs.resources("model").items()}
    local = {name: need(Wildcards(benchmark="mcbe"), {}, 2) for name, need in jobs.resources("judge").items()}
    assert api["api"] == 1 and "gpu" not in api  # Kubernetes takes a 0 for a request
    assert local["api"] == 0
    assert local["mem_mb"] == 2 * jobs.resources("judge")["mem_mb"](Wildcards(benchmark="mcbe"), {}, 1)


def test_the_site_has_each_task_with_the_files_of_who_answered_it():
    site = site_tree(find.targets)
    run = next(run for run in site["runs"] if (run["name"], run["protocol"]) == ("mcbe", "recommended"))
    judged = next(task for task in run["asked"] if task["task"] == "BA")
    answers = next(answers for answers in judged["answers"] if answers["model"] == "planted")
    assert answers["responses"] == File("results/responses/planted/mcbe/recommended.parquet")
    assert answers["judged"][1] == File("results/judge/responses/planted/mcbe/recommended/BA.parquet")
    assert site["replication"] == ""
    assert {"task": "BA", "path": File("results/responses/endpoint/mcbe/recommended.parquet")} in site["paid"][
        "endpoint"
    ]


def test_after_a_failure_what_is_not_there_is_left_out():
    gone = "results/responses/planted/bbq/recommended.parquet"
    left = targets_of("tables", lambda path: path != gone)
    models = {key.model for key in left.evidence if key.benchmark == "bbq"}
    assert models == {"judge", "endpoint"}
    assert not any("planted/bbq" in path for path in files(site_tree(left)))
    nothing = targets_of("report")
    assert (nothing.tables, nothing.figures, nothing.comparisons) == ([], [], [])
    assert nothing.everything() == ["results/report/index.html"]


def test_a_construction_is_made_from_the_configured_sources():
    without = ConstructionLookup(find)
    assert without.raw() == {}
    writing = {"writer": "judge", "sofa": "sofa.csv", "templates": "released"}
    construct = ConstructionLookup(lookup(construction=writing))
    assert list(construct.raw()) == ["crows_pairs", "bbq", "sofa"]
    assert construct.prompts()["templates/dbb_code"] == File("ancient data/dbb_code")
    assert construct.prompt_checksums() == ["data/dbb.sha256", "data/dbb_code.sha256"]
    assert construct.step_name(Wildcards()) == "nine_variations"


def test_framings_are_asked_of_choices_alone_and_of_models_that_read_prompts():
    """Under a name of their own, in the check too; the rules of a protocol itself ask for nothing else."""
    framed = CONFIG["benchmarks"] | {"crows_pairs": {"data": "sample", "framings": {"system": ["Be brief."]}}}
    with_framings, without = lookup(benchmarks=framed), lookup(benchmarks=framed | {"crows_pairs": {"data": "sample"}})
    own = Wildcards(benchmark="crows_pairs", protocol="recommended", model="planted", task="pair_choice")
    other = Wildcards(**vars(own) | {"protocol": "recommended+framings"})
    assert with_framings.tasks(own) == ["pair", "pair_choice"] and with_framings.tasks(other) == ["pair_choice"]
    assert with_framings.framings(own) == {} and with_framings.framings(other)["system"] == ["Be brief."]
    planned = [row for row in plan(with_framings.config) if row.protocol == "recommended+framings"]
    assert {row.task for row in planned} == {"pair_choice"} and "published" not in {row.model for row in planned}
    assert planned and plan(without.config) == [row for row in plan(with_framings.config) if row not in planned]
    names = {key.comparison for key in with_framings.targets.comparisons}
    assert names - {key.comparison for key in without.targets.comparisons} == {"framings"}
    (crows,) = (run for run in with_framings.evidence(own) if run["name"] == "crows_pairs")
    assert crows["framed"] and all("/recommended+framings/pair_choice." in path for path in files(crows["framed"]))
    assert not any(run["framed"] for run in without.evidence(own))
