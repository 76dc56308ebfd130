"""The lock and the environments of the steps name the same versions, and each step's environment holds what it imports."""

import ast
import re
import sys

import pytest
import yaml

from biasatlas.workflow import identity as code
from biasatlas.workflow.config import ROOT, benchmark_names

#: Where conda-forge calls a package by another name than PyPI, and PyPI by another than the import.
PYPI_NAMES = {
    "pytorch": "torch",
    "matplotlib-base": "matplotlib",
    "pytorch-gpu": "torch",
    "huggingface_hub": "huggingface-hub",
}
IMPORT_NAMES = {"pyyaml": "yaml", "scikit-posthocs": "scikit_posthocs", "huggingface-hub": "huggingface_hub"}
PYTHON = (3, 12)
ENVIRONMENTS = {
    path.stem: yaml.safe_load(path.read_text())["dependencies"] for path in sorted((ROOT / "envs").glob("*.yaml"))
}


def locked() -> dict[str, str]:
    """Version of each package for the Python of the environments."""
    versions = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        match = re.match(r"([A-Za-z0-9_.-]+)==([^ ;]+)(?: ; .*python_full_version < '3\.(\d+)')?", line)
        if match and not (match[3] and PYTHON[1] >= int(match[3])):
            versions[match[1]] = match[2]
    return versions


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_agrees_with_the_lock(name):
    for dependency in ENVIRONMENTS[name]:
        package, version = dependency.split("=")
        if package == "python":
            assert version == "{}.{}".format(*PYTHON)
        else:
            assert locked()[PYPI_NAMES.get(package, package)] == version, f"{dependency}: correct it after `make lock`"


def test_every_direct_dependency_is_locked():
    for line in (ROOT / "requirements.in").read_text().splitlines():
        name = re.split(r"[=#\s]", line)[0]
        assert not name or name in locked(), name


def scripts_by_environment() -> dict[str, set[str]]:
    """Environment -> scripts of the rules that name it."""
    scripts: dict[str, set[str]] = {name: set() for name in ENVIRONMENTS}
    for path in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"^\s*rule\b", path.read_text(), flags=re.MULTILINE)[1:]:
            script = re.search(r"scripts/(\w+)\.py", block)
            for environment in re.findall(r"envs/([\w-]+)\.yaml", block) if script else ():
                scripts[environment].add(script[1])
    return scripts


def imported_packages(script: str) -> set[str]:
    """Third-party packages that a script imports, through ours and those of the benchmarks that it may load."""
    step = {
        "read_items": "items",
        "build_requests": "requests",
        "import_responses": "released",
        "score_responses": "scores",
        "judge_responses": "judge",
        "summarise_scores": "tables",
        "draw_figure": "figures",
        "write_report": "__init__",
        "fetch_source": "lock",
    }.get(script)
    modules = [f"benchmarks.{name}.{step}" for name in benchmark_names() if step]
    packages = set()
    for path in code.code_files(script, *modules):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                packages.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                packages.add(node.module.split(".")[0])
    return packages - set(sys.stdlib_module_names) - {"biasatlas", "snakemake"}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_holds_what_its_scripts_import_and_no_more(name):
    scripts = scripts_by_environment()[name]
    assert scripts, "no rule uses it"
    needed = set().union(*map(imported_packages, scripts))
    packages = {PYPI_NAMES.get(package, package) for package in (line.split("=")[0] for line in ENVIRONMENTS[name])}
    held = {IMPORT_NAMES.get(package, package) for package in packages} - {"python"}
    assert needed - held == set(), "missing"
    # accelerate is what transformers places a model with; pyarrow, what pandas reads and writes parquet with.
    assert held - needed - {"accelerate", "pyarrow"} == set(), "not needed"
