"""A finished run is moved or copied with the workflow in whose folder it was made: there is nothing to do again."""

import json
import os
import shutil

import pytest
from conftest import copy_workflow, snakemake
from small_run import KNOWN


def copy_with_new_times(here, there):
    """Copy as ``cp -r`` does, in the worst order: every input is newer than what was made from it."""
    times = {path: path.stat().st_mtime_ns for path in here.rglob("*") if path.is_file()}
    shutil.copytree(here, there)
    for path, time in times.items():
        os.utime(there / path.relative_to(here), ns=(0, 2 * max(times.values()) - time))


WAYS = {
    "copied with new times": copy_with_new_times,
    "moved": shutil.move,
}


def run(folder, *arguments):
    """What Snakemake says of the run in a copy of the workflow."""
    done = snakemake(*arguments, "--configfile", str(folder / "config.json"), folder=folder, root=folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


def finished(folder, config):
    """``folder``, a copy of the workflow with a finished run in it."""
    copy_workflow(folder)
    (folder / "config.json").write_text(json.dumps(config))
    run(folder)
    assert (folder / "results/report/index.html").exists()
    return folder


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("own") / "workflow", KNOWN)


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory, mirror):
    """A run on published data and outputs, which lie in folders; Snakemake knows only a folder's time."""
    released = {"bert": {"kind": "released", "benchmark": "crows_pairs", "release": "bert"}}
    config = KNOWN | {"models": released, "benchmarks": {"crows_pairs": {"protocols": ["released"]}}}
    return finished(tmp_path_factory.mktemp("downloaded") / "workflow", config | {"mirror": str(mirror)})


@pytest.mark.parametrize(("of", "way"), [*(("own", way) for way in WAYS), ("downloaded", "copied with new times")])
def test_a_finished_run_elsewhere_has_nothing_to_do(of, way, tmp_path, request):
    WAYS[way](request.getfixturevalue(of), tmp_path / "elsewhere")
    assert "Nothing to be done" in run(tmp_path / "elsewhere", "--dry-run")
