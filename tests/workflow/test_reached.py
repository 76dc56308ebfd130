"""What a job ran is in its identity, and what it opened among its inputs: one job of each rule is traced."""

import json
import os

import pytest
import steps
from conftest import ROOT, snakemake

from biasatlas.workflow import identity
from biasatlas.workflow.boundaries import BOUNDARIES
from biasatlas.workflow.reach import Definition

CONFIG = {
    "results": "results",
    "models": {
        "simulated": {"kind": "simulated", "bias": 1.0},
        "other": {"kind": "simulated", "seed": 2},
    },
    "benchmarks": {
        "crows_pairs": {"data": "sample", "models": ["simulated", "other"]},
        "bbq": {"data": "sample", "categories": ["Age"], "models": ["simulated"]},
        "gest": {"data": "sample", "models": ["simulated"]},
        "dbb": {"data": "sample", "categories": ["Age"], "models": ["simulated"]},
        "mcbe": {"data": "sample", "categories": ["gender"], "judge": "simulated", "models": ["simulated"]},
        "twbias": {"data": "sample", "categories": ["female-male"], "models": ["simulated"]},
    },
}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """What each job of a small run did, by rule."""
    folder = tmp_path_factory.mktemp("traced")
    traces = folder / "traces"
    traces.mkdir()
    given = {
        "library": str(ROOT / "scripts" / "biasatlas") + "/",
        "resources": os.path.realpath(ROOT / "resources") + "/",
        "boundaries": list(BOUNDARIES),
    }
    (traces / "boundaries.json").write_text(json.dumps(given))
    (folder / "config.json").write_text(json.dumps(CONFIG))
    path = os.pathsep.join([str(ROOT / "tests" / "traced"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = snakemake(
        *("--configfile", str(folder / "config.json"), "--keep-going"),
        folder=folder,
        env=os.environ | {"PYTHONPATH": path, "TRACED": str(traces)},
    )
    assert done.returncode == 0, done.stdout
    return [json.loads(path.read_text()) for path in traces.glob("[0-9]*.json")]


def reached(job):
    """Definitions that a job's identity covers."""
    names = job["wildcards"]
    config = CONFIG["benchmarks"]
    benchmarks = [names["benchmark"]] if "benchmark" in names else [*config]
    one = {name: names[name] for name in ("table", "figure") if name in names}
    return identity.reach(steps.library(), identity.step_of(job["script"], benchmarks, **one)).forms


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


def test_what_ran_is_reached(jobs):
    missing = {}
    for job in jobs:
        if job["script"] in TOLD_BY_VERSION:
            continue
        forms = reached(job)
        for module, name in job["ran"]:
            first, _, rest = name.partition(".")
            if first.startswith("<"):
                continue  # a lambda at the top of a module has no name; it is part of what is assigned
            method = "" if rest.startswith("<") or not rest else rest.partition(".")[0]
            if Definition(module, first, method) not in forms and not (
                Definition(module, first) in forms and (not method or _of_class(module, first, method))
            ):
                missing.setdefault(f"{module}.{name}", set()).add(job["script"])
    assert missing == {}


def _of_class(module, name, method):
    """Whether a method is part of its class's own form: a dunder, a validator."""
    return method not in steps.library().module(module).methods(name)


def test_every_script_of_the_run_was_traced(jobs):
    scripts = {job["script"] for job in jobs}
    expected = (
        "read_items build_requests score_responses summarise_scores summarise_outcomes draw_figure compare_models "
    )
    expected += "judge_responses compare_benchmarks compare_dbb_bbq draw_match draw_pairs summarise_models write_report"
    assert set(expected.split()) <= scripts


def test_what_was_opened_is_given(jobs):
    given = {}
    for job in jobs:
        for path in set(job["opened"]) - set(job["inputs"]):
            given.setdefault(path, set()).add(job["script"])
    assert given == {}
