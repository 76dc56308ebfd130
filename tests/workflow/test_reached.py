"""What a job ran is in its identity, and what it opened among its inputs: one job of each rule is traced."""

import json
import os

import pytest
from api_server import MODEL, Server, written
from conftest import ROOT, snakemake
from unit.test_predictions import write_score_table

from biasatlas.benchmarks import registry
from biasatlas.workflow import failures, identity
from biasatlas.workflow.identity import BOUNDARIES
from biasatlas.workflow.modules import Definition

CONFIG = {
    "results": "results",
    "models": {
        "simulated": {"kind": "simulated", "bias": 1.0},
        "other": {"kind": "simulated", "seed": 2},
        "theirs": {"kind": "released", "benchmark": "crows_pairs", "path": "./mine.csv", "format": "score_table"},
    },
    "benchmarks": {
        "crows_pairs": {"data": "sample", "tasks": ["pair"], "models": ["simulated", "other", "theirs"]},
        "bbq": {"data": "sample", "categories": ["Age"], "models": ["simulated"]},
        "dbb": {"data": "sample", "categories": ["Age"], "tasks": ["MCQ"], "models": ["simulated"]},
        "mcbe": {
            "data": "sample",
            "categories": ["gender"],
            "tasks": ["BA"],
            "judge": "simulated",
            "models": ["simulated"],
        },
        "twbias": {"data": "sample", "categories": ["female-male"], "models": ["simulated"]},
    },
    "construction": {"writer": "writer", "items_per_source": 1},
    "simulation": {"seeds": 2},
}

#: Files whose jobs are traced: with those that they are made from, a job of each rule.
TARGETS = """
    tables/crows_pairs/recommended/{scores,outcomes}.csv
    tables/bbq/recommended/bias.csv
    tables/dbb/recommended/bias.csv
    tables/mcbe/recommended/scores.csv
    tables/twbias/recommended/{gender,multiverse}.csv
    figures/bbq/recommended/bias.svg
    figures/twbias/recommended/p_values_by_prompt.svg
    tables/comparison/recommended/{scores,findings,dbb_bbq}.csv
    figures/comparison/recommended/{pairs,dbb_bbq}.svg
    summary/simulated.json
    multiverse/simulated/crows_pairs/recommended.csv
    plan/crows_pairs/recommended.csv
    simulation/crows_pairs/crows_pairs_pair/bias-0.1.csv
    simulation/bbq/bbq/bias-0.2.csv
    simulation/twbias/twbias_own_group/bias-0.1.csv
    construction/{costs,quality_filter}.csv
"""


def paths(text):
    """Paths below the results: of each in the text, one for every name in its braces."""
    for path in text.split():
        before, _, rest = path.partition("{")
        names, _, after = rest.partition("}")
        yield from (f"results/{before}{name}{after}" for name in names.split(","))


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """What each job of a small run did: to TARGETS, then to the report on what is there."""
    folder = tmp_path_factory.mktemp("traced")
    traces = folder / "traces"
    traces.mkdir()
    given = {
        "library": str(ROOT / "scripts" / "biasatlas") + "/",
        "resources": os.path.realpath(ROOT / "resources") + "/",
        "boundaries": list(BOUNDARIES),
    }
    (traces / "boundaries.json").write_text(json.dumps(given))
    sample = ROOT / "resources/samples/crows_pairs/data/crows_pairs_anonymized.csv"
    write_score_table(folder, registry.read_items("crows_pairs")({f"data/{sample.name}": sample}, None))
    env = os.environ | {"TRACED": str(traces)}
    with Server(reply=written) as server:
        writer = {"kind": "api", "base_url": server.url, "model": MODEL}
        config = CONFIG | {"models": CONFIG["models"] | {"writer": writer}}
        (folder / "config.json").write_text(json.dumps(config))
        for targets, level in ((paths(TARGETS), ""), (["results/report/index.html"], "report")):
            given = {"folder": folder, "cwd": folder, "env": env | {failures.LEVEL: level}}
            done = snakemake(*targets, "--configfile", "config.json", **given)
            assert done.returncode == 0, done.stdout
    return [json.loads(path.read_text()) for path in traces.glob("[0-9]*.json")]


def reached(job):
    """Definitions that a job's identity covers."""
    names = job["wildcards"]
    config = CONFIG["benchmarks"]
    benchmarks = [names["benchmark"]] if "benchmark" in names else [*config]
    one = {name: names[name] for name in ("table", "figure") if name in names}
    return identity.reach(identity.library(), identity.step_of(job["script"], benchmarks, **one)).forms


#: Scripts whose results are told by versions, or that reach no result: they have no digest of their code.
TOLD_BY_VERSION = {
    "answer_requests",
    "gather_responses",
    "check",
    "check_model",
    "fetch_source",
    "fetch_model",
    "check_cost",
}


#: What asks a model and keeps its answers: told by versions too, whoever calls it.
ASKED = ("biasatlas.models.endpoint", "biasatlas.models.claims", "biasatlas.models.store", "biasatlas.models.sampling")
#: What endpoints are said to be like, by the same version.
SERVICES = os.path.realpath(ROOT / "resources/services.json")


def test_what_ran_is_reached(jobs):
    missing = {}
    for job in jobs:
        if job["script"] in TOLD_BY_VERSION:
            continue
        forms = reached(job)
        for module, name, method in job["ran"]:
            if module.startswith(ASKED):
                continue
            if Definition(module, name, method) not in forms and not (
                (Definition(module, name) in forms and (not method or _of_class(module, name, method)))
                or (Definition(module, "") in forms and _of_import(module, name))
            ):
                missing.setdefault(f"{module}.{name}.{method}".rstrip("."), set()).add(job["script"])
    assert missing == {}


def _of_class(module, name, method):
    """Whether a method is part of its class's own form: a dunder, a validator."""
    return method not in identity.library().module(module).methods(name)


def _of_import(module, name):
    """Whether a function is part of what its module does when it is imported, as one that is registered."""
    return any(getattr(node, "name", "") == name for node in identity.library().module(module).effects)


def test_every_script_of_the_run_was_traced(jobs):
    scripts = {job["script"] for job in jobs}
    expected = (
        "read_items build_requests score_responses summarise_scores summarise_outcomes draw_figure compare_models "
    )
    expected += "judge_responses compare_benchmarks compare_dbb_bbq draw_comparison summarise_models write_report"
    assert set(expected.split()) <= scripts


def test_what_was_opened_is_given(jobs):
    given = {}
    for job in jobs:
        for path in set(job["opened"]) - {*job["inputs"], SERVICES}:
            given.setdefault(path, set()).add(job["script"])
    assert given == {}
