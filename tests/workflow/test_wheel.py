"""The wheel: the command and the whole workflow, from a folder that is no checkout."""

import json
import os
import subprocess
import sys
import tomllib

import pytest
import yaml
from conftest import ROOT

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder that `pip install .` filled, without the dependencies, which are there."""
    source, target = tmp_path_factory.mktemp("source") / "atlas", tmp_path_factory.mktemp("installed")
    subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-coz", "--exclude-standard"],
        check=True,
        stdout=(files := source.with_suffix(".txt")).open("wb"),
    )
    source.mkdir()
    subprocess.run(["tar", "-C", ROOT, "--null", "-T", files, "-cf", source / "a.tar"], check=True)
    subprocess.run(["tar", "-C", source, "-xf", source / "a.tar"], check=True)
    # What builds the wheel is here already, so that no network is needed.
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", target]
    done = subprocess.run([sys.executable, "-m", "pip", "install", *options, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def command(installed, folder, *words):
    environment = os.environ | {"PYTHONPATH": str(installed), "BROWSER": "true"}
    command = [sys.executable, installed / "bin" / "bias-atlas", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_an_installed_command_measures_from_an_empty_folder(installed, tmp_path):
    done = command(installed, tmp_path, "init", "--endpoint", "https://host/v1", "--served", "mini", "--sample")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "bias-atlas.yaml"
    config = yaml.safe_load(path.read_text())
    config["models"], config["benchmarks"] = (
        {"mini": {"kind": "simulated"}},
        {"crows_pairs": {"data": "sample", "tasks": ["pair"]}},
    )
    path.write_text(yaml.safe_dump(config))
    done = command(installed, tmp_path, "run", "bias-atlas.yaml", "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith("The report: results/mini/report/index.html")
    assert len(done.stderr.splitlines()) <= 40
    (origin,) = (tmp_path / "results/mini/scores").rglob("provenance.json")
    assert json.loads(origin.read_text())["workflow"] == VERSION
    assert VERSION in (tmp_path / "results/mini/report/pages/model-mini.html").read_text()
    done = command(installed, tmp_path, "open", "bias-atlas.yaml")
    assert done.stdout == "results/mini/report/index.html\n" and (tmp_path / done.stdout.strip()).exists()
    done = command(installed, tmp_path, "export-results", "bias-atlas.yaml", "eee", "hf", "rocrate", "croissant")
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == [".snakemake", "bias-atlas.yaml", "results"]


def test_errors_have_the_name_of_the_command(installed, tmp_path):
    done = command(installed, tmp_path, "open", "nowhere.yaml")
    assert done.returncode == 2 and done.stderr.startswith("error: nowhere.yaml")
