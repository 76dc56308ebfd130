"""The lock and the environments of the steps name the same versions."""

import re

import pytest
import yaml

from biasatlas.config import ROOT

#: Where conda-forge calls a package by another name than PyPI.
PYPI_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib"}
PYTHON = (3, 12)


def locked() -> dict[str, str]:
    """Version of each package for the Python of the environments."""
    versions = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        match = re.match(r"([A-Za-z0-9_.-]+)==([^ ;]+)(?: ; .*python_full_version < '3\.(\d+)')?", line)
        if match and not (match[3] and PYTHON[1] >= int(match[3])):
            versions[match[1]] = match[2]
    return versions


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.stem)
def test_environment_agrees_with_the_lock(path):
    for dependency in yaml.safe_load(path.read_text())["dependencies"]:
        name, version = dependency.split("=")
        if name == "python":
            assert version == "{}.{}".format(*PYTHON)
        else:
            assert locked()[PYPI_NAMES.get(name, name)] == version, f"{dependency}: run `make lock`, then correct it"


def test_every_direct_dependency_is_locked():
    for line in (ROOT / "requirements.in").read_text().splitlines():
        name = re.split(r"[=#\s]", line)[0]
        assert not name or name in locked(), name


def test_every_rule_names_a_shipped_environment():
    named = {
        name for path in (ROOT / "rules").glob("*.smk") for name in re.findall(r"envs/(\w+\.yaml)", path.read_text())
    }
    assert named == {path.name for path in (ROOT / "envs").glob("*.yaml")}
