"""The lock and the environments of the steps name the same versions, and each step's environment holds what it imports."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from biasatlas import ROOT

#: Where conda-forge calls a package by another name than PyPI, and PyPI by another than the import.
PYPI_NAMES = {
    "pytorch": "torch",
    "matplotlib-base": "matplotlib",
    "pytorch-gpu": "torch",
    "huggingface_hub": "huggingface-hub",
}
IMPORT_NAMES = {
    "json-repair": "json_repair",
    "pyyaml": "yaml",
    "scikit-posthocs": "scikit_posthocs",
    "huggingface-hub": "huggingface_hub",
    "vl-convert-python": "vl_convert",
}
PYTHON = (3, 12)
#: Imported only where a key of the configuration asks for it, with a sentence where it is not there (`prices: known`).
OPTIONAL = {"genai_prices"}


def dependencies(path: Path) -> list[str]:
    """Packages of an environment with their versions; those that conda-forge lacks come by pip."""
    listed = yaml.safe_load(path.read_text())["dependencies"]
    by_pip = [name.replace("==", "=") for entry in listed if isinstance(entry, dict) for name in entry["pip"]]
    return [entry for entry in listed if isinstance(entry, str) and entry != "pip"] + by_pip


ENVIRONMENTS = {path.stem: dependencies(path) for path in sorted((ROOT / "envs").glob("*.yaml"))}

SCRIPTS = ROOT / "scripts"
#: What every job imports by name: the kinds of model and the benchmarks, to read the configuration.
DECLARATIONS = ("models/*/entry.py", "benchmarks/*/spec.py")
#: What a script takes of every benchmark, through the registry: the modules that define it, or bear the mark.
STEPS = {
    "read_items": ("read_items",),
    "build_requests": ("build_requests",),
    "answer_requests": ("PARSERS",),
    "judge_responses": ("build_judge_requests", "PARSERS"),
    "order_contexts": ("build_order_requests", "PARSERS"),
    "parse_with_model": ("PARSERS",),
    "build_second_requests": ("PARSERS",),
    "score_responses": ("score_responses",),
    "summarise_scores": ("@table",),
    "draw_figure": ("@figure",),
}
#: What answering jobs import when they open a model, by the environment of its kind.
IN_PROCESS = ("models/local/*.py", "models/masked/*.py")
OPENED = {
    "model": IN_PROCESS,
    "model-gpu": IN_PROCESS,
    "api": ("models/endpoint/*.py",),
    "data": ("models/released/*.py", "benchmarks/*/released.py"),
}
DOOR = ("models/kinds.py", "models/store.py", "models/objects.py", "workflow/gpu_lock.py")


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
    lines = [line for path in ROOT.glob("requirements*.in") for line in path.read_text().splitlines()]
    for line in lines:
        name = re.split(r"[=#\s]", line)[0]
        assert not name or name.lower() in locked(), name


def test_what_is_installed_and_run_is_named_by_its_content():
    """Every package of the lock by hashes, every action by its commit, the image's base by its digest: a tag can be
    moved."""
    blocks = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text())
    assert [block.split()[0] for block in blocks if block[0] not in "#-" and "--hash=sha256:" not in block] == []
    actions = re.findall(r"uses: *(\S+)", "".join(path.read_text() for path in (ROOT / ".github").rglob("*.yml")))
    assert actions and [action for action in actions if not re.search("@[0-9a-f]{40}$", action)] == []
    assert re.findall("^FROM (?!.*@sha256:[0-9a-f]{64}$).*", (ROOT / "Dockerfile").read_text(), re.M) == []


def files_by_environment() -> dict[str, set[Path]]:
    """Environment -> scripts of the rules that name it, and what they import by name."""
    files: dict[str, set[Path]] = {name: set() for name in ENVIRONMENTS}
    for path in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"^\s*rule\b", path.read_text(), flags=re.MULTILINE)[1:]:
            script = re.search(r"scripts/(\w+)\.py", block)
            if not script:
                continue
            steps = [defining(name) for name in STEPS.get(script[1], ())]
            imported = {SCRIPTS / f"{script[1]}.py"}.union(library(*DECLARATIONS), *steps)
            for environment in re.findall(r"envs/([\w-]+)\.yaml", block):
                files[environment] |= imported
            for environment in OPENED if re.search(r"^ +jobs\.environment\(", block, re.MULTILINE) else ():
                files[environment] |= imported | library(*DOOR, *OPENED[environment])
    return files


def library(*patterns: str) -> set[Path]:
    """Files of the library that match ``patterns``."""
    return {path for pattern in patterns for path in (SCRIPTS / "biasatlas").glob(pattern)}


def defining(name: str) -> set[Path]:
    """Modules of benchmarks and families that define ``name``, or in which a function is marked with it."""
    line = re.compile(rf"^(?:{name}\(|def {name}\(|{name}\b.* = )", re.MULTILINE)
    files = library("benchmarks/*/*.py", "benchmarks/families/*/*.py")
    return {path for path in files if line.search(path.read_text(encoding="utf-8"))}


def packages(files: Iterable[Path]) -> set[str]:
    """Third-party packages that ``files`` import, through all that they import of the library."""
    names: set[str] = set()
    seen, todo = set(), set(files)
    while todo:
        path = todo.pop()
        seen.add(path)
        for name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            parts = name.split(".")
            names.add(parts[0])
            modules = [SCRIPTS.joinpath(*parts[: end + 1]) for end in range(len(parts))]
            imported = {file for module in modules for file in (module.with_suffix(".py"), module / "__init__.py")}
            todo |= {file for file in imported - seen if file.is_file()}
    return names - set(sys.stdlib_module_names) - {"biasatlas", "snakemake"}


def imports(node: ast.AST, in_function: bool = False) -> Iterator[str]:
    """Names of what a module imports. The part of the library that a function imports is what some jobs open: OPENED has it."""
    for child in ast.iter_child_nodes(node):
        names = []
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.FunctionDef) and any("id='figure'" in ast.dump(each) for each in child.decorator_list):
            continue  # only the environment in which figures are drawn runs it
        if isinstance(child, ast.Import):
            names = [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            names = [f"{child.module}.{alias.name}" for alias in child.names]
        yield from (name for name in names if not (in_function and name.startswith("biasatlas")))
        yield from imports(child, in_function or isinstance(child, ast.FunctionDef))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_holds_what_its_scripts_import_and_no_more(name):
    files = files_by_environment()[name]
    assert files, "no rule uses it"
    needed = packages(files)
    held = {PYPI_NAMES.get(package, package) for package in (line.split("=")[0] for line in ENVIRONMENTS[name])}
    held = {IMPORT_NAMES.get(package, package) for package in held} - {"python"}
    assert needed - held - OPTIONAL == set(), "missing"
    # accelerate is what transformers places a model with; pyarrow, what pandas reads and writes parquet with.
    assert held - needed - {"accelerate", "pyarrow"} == set(), "not needed"
