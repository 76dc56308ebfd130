"""A fingerprint of the code behind a rule, so that editing a library module reruns exactly the rules that use it."""

import ast
import hashlib
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]


def code_hash(script: str, *modules: str) -> str:
    """SHA-256 over ``scripts/{script}.py`` and every ``biasatlas`` module that it imports, directly or not.

    ``modules`` names those that it imports by name at run time, as ``benchmarks.twbias.scores``.
    """
    digest = hashlib.sha256()
    for path in code_files(script, *modules):
        digest.update(str(path.relative_to(SCRIPTS)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def code_files(script: str, *modules: str) -> list[Path]:
    """The files that :func:`code_hash` covers, sorted."""
    seen: set[Path] = set()
    todo = [SCRIPTS / f"{script}.py", *(path for name in modules for path in _files(f"biasatlas.{name}"))]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo.extend(_imports(path))
    return sorted(seen)


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    package = ".".join(path.relative_to(SCRIPTS).parent.parts)
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return tuple(file for name in sorted(names) for file in _files(name))


def _files(name: str) -> list[Path]:
    """The file of module ``name`` and the ``__init__`` of each package around it; none if it is not ours."""
    parts = name.split(".")
    if parts[0] != "biasatlas":
        return []
    files = [SCRIPTS.joinpath(*parts[:depth], "__init__.py") for depth in range(1, len(parts) + 1)]
    files.append(SCRIPTS.joinpath(*parts[:-1], f"{parts[-1]}.py"))
    return [file for file in files if file.is_file()]
