"""A finished run is moved or copied with the workflow in whose folder it was made: there is nothing to do again."""

import json
import os
import shutil

import pytest
from conftest import copy_workflow, snakemake
from small_run import PLANTED


def copy_with_new_times(here, there):
    """Copy as ``cp -r`` does, in the worst order: every input is newer than what was made from it."""
    times = {path: path.stat().st_mtime_ns for path in here.rglob("*") if path.is_file()}
    shutil.copytree(here, there)
    for path, time in times.items():
        os.utime(there / path.relative_to(here), ns=(0, 2 * max(times.values()) - time))


WAYS = {
    "copied with its times": shutil.copytree,
    "copied with new times": copy_with_new_times,
    "moved": shutil.move,
}


def run(folder, *arguments):
    """What Snakemake says of the run in a copy of the workflow."""
    done = snakemake(*arguments, "--configfile", str(folder / "config.json"), folder=folder, root=folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy of the workflow with a finished run in it."""
    folder = copy_workflow(tmp_path_factory.mktemp("finished") / "workflow")
    (folder / "config.json").write_text(json.dumps(PLANTED))
    run(folder)
    assert (folder / "results/report/index.html").exists()
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_a_finished_run_elsewhere_has_nothing_to_do(finished, tmp_path, way):
    WAYS[way](finished, tmp_path / "elsewhere")
    assert "Nothing to be done" in run(tmp_path / "elsewhere", "--dry-run")
