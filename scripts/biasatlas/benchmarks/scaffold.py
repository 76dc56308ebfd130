"""A new described benchmark: a description that works, and a few rows of data."""

from pathlib import Path

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.errors import UserError
from biasatlas.validation import unknown

_SCAFFOLD = ROOT / "resources" / "scaffold"


def start(name: str, family: str) -> list[Path]:
    """Write the description of benchmark ``name``, and its sample; their paths.

    Raises UserError for a name that is taken or names no file, and for a family that is none.
    """
    if family not in registry.FAMILIES:
        *others, last = registry.FAMILIES
        raise UserError(f"FAMILY: {family!r} is none; expected {', '.join(others)} or {last}.")
    if not name.isidentifier():
        raise UserError(f"NAME: {name!r} names files; use letters, digits and _.")
    files = {
        ROOT / "config" / "benchmarks" / f"{name}.yaml": _SCAFFOLD / f"{family}.yaml",
        ROOT / "resources" / "samples" / name / "data.csv": _SCAFFOLD / f"{family}.csv",
    }
    taken = [str(path) for path in files if path.exists()] or [name] * registry.is_benchmark(name)
    if taken:
        raise UserError(f"{taken[0]}: there already. Take another NAME.")
    for path, origin in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(origin.read_text(encoding="utf-8").replace("NAME", name), encoding="utf-8")
    return list(files)


def check_described(name: str) -> None:
    """Raise UserError for a name that is no description's."""
    if not registry.is_benchmark(name):
        raise UserError(unknown("NAME", name, "a benchmark", registry.benchmark_names()))
    if registry.description(name) is None:
        raise UserError(f"NAME: {name} is a folder of Python, of which this knows nothing; name a described benchmark.")
