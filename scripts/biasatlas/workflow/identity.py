"""A fingerprint of the code that makes a result: an edit that can change a number reruns the rules that use it.

Answers have none: they are identified by versions that golden tests guard (:mod:`biasatlas.models.kinds`), so that no
refactoring asks a model again.
"""

import ast
import contextlib
import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from biasatlas import ROOT
from biasatlas.benchmarks.registry import description_that_changes, load_spec, packages, reader_version
from biasatlas.files import write_text
from biasatlas.marks import Changes, that_change
from biasatlas.models.entry import Entry
from biasatlas.models.kinds import KINDS

SCRIPTS = ROOT / "scripts"
#: What modules hold, by their text: files of a digest and names of modules.
PARSED = ROOT / ".snakemake" / "syntax"

#: Where numbers are made, or read and written. All else that a script imports (locks, logs, the choice of jobs) is not.
MAKERS = (
    *("biasatlas.benchmarks", "biasatlas.stats", "biasatlas.report", "biasatlas.models.planted", "biasatlas.engine"),
    *("biasatlas.models.known", "biasatlas.laboratory"),
    *("biasatlas.columns", "biasatlas.files", "biasatlas.resources", "biasatlas.sources", "biasatlas.userfiles"),
)

#: Modules of those that say what there is, and compute nothing: names, options (their values are params), texts.
DECLARATIONS = {"contract", "registry", "spec", "options", "prompting", "entry", "description"}

#: What has a docstring.
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def code_of(script: str, *modules: str) -> str:
    """A digest of the syntax of ``scripts/{script}.py``, of ``modules`` of the library, and of the makers they import.

    Comments, docstrings, layout and type imports do not count.
    """
    digest = hashlib.sha256()
    for path in code_files(script, *modules):
        digest.update(f"{path.relative_to(SCRIPTS).as_posix()} {_module(path)[0]}\n".encode())
    return digest.hexdigest()[:16]


#: What a step makes, of which fields of a description are marked with what they change.
_MAKES: dict[str, Changes] = {
    "read_items": "answers",
    "build_requests": "answers",
    "answer_requests": "answers",
    "score_responses": "scores",
}


def code_of_step(script: str, benchmark: str, *modules: str) -> str:
    """:func:`code_of` modules in whose names ``{benchmark}`` is a benchmark's folder, or that of its family.

    With it goes what of the benchmark's description, if it has one, can change what the step makes.
    """
    if not benchmark:
        return code_of(script, *modules)
    places = [module.format(benchmark=package) for module in modules for package in packages(benchmark)]
    code = code_of(script, *dict.fromkeys(places))
    described = description_that_changes(benchmark, _MAKES.get(script, "tables"))
    return f"{code} {hashlib.sha256(repr(described).encode()).hexdigest()[:16]}" if described else code


def code_files(script: str, *modules: str) -> list[Path]:
    """The files that :func:`code_of` covers, sorted."""
    script_file = SCRIPTS / f"{script}.py"
    found: set[Path] = {script_file}
    todo = [script_file, *(path for module in modules for path in _files(f"biasatlas.{module}"))]
    while todo:
        path = todo.pop()
        if path not in found or path == script_file:
            found.add(path)
            todo.extend(file for file in _module(path)[1] if file not in found)
    return sorted(found)


@cache
def _module(path: Path) -> tuple[str, tuple[Path, ...]]:
    """A digest of a module's syntax, and the files of the makers that it imports, those for type checkers alone left out."""
    source = path.read_bytes()
    # Reading the syntax of all modules is a third of the time of a plan, and seldom needed twice.
    kept = PARSED / hashlib.sha256(sys.version.encode() + source).hexdigest()
    try:
        digest, *imports = kept.read_text().splitlines()
    except OSError:
        digest, *imports = _parsed(source)
        with contextlib.suppress(OSError):  # where the library lies in a folder that is not ours
            write_text("\n".join([digest, *imports]), kept)
    package = ".".join(path.relative_to(SCRIPTS).parent.parts)
    return digest, tuple(file for name in imports for file in _files(resolve_name(name, package)))


def _parsed(source: bytes) -> Iterator[str]:
    """A digest of a module's syntax, then the names that it imports, from its package on where they begin with a dot."""
    tree = ast.parse(source)
    names: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names.add(base)
            names.update(f"{base}.{alias.name}" if node.module else f"{base}{alias.name}" for alias in node.names)
    for each in ast.walk(tree):
        if isinstance(each, _DOCUMENTED) and ast.get_docstring(each, clean=False):
            each.body = each.body[1:]
    # Python 3.13 leaves empty fields out of a dump unless it is asked for them.
    options = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    yield hashlib.sha256(ast.dump(tree, **options).encode()).hexdigest()
    yield from sorted(names)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Every statement below ``node``, but for what type checkers alone read. Expressions hold none."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        for child in getattr(node, block, ()):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            yield child
            yield from _statements(child)


def _files(name: str) -> list[Path]:
    """The file of module ``name`` where it is a maker's, and the package's where it is one."""
    if not name.startswith(MAKERS) or name.rpartition(".")[2] in DECLARATIONS:
        return []
    path = SCRIPTS.joinpath(*name.split("."))
    return [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]


def answer_identity(entry: Entry, benchmark: str | None) -> dict:
    """What can change a model's answers: the marked fields of its entry, the versions of what computes and reads them.

    Golden tests say when a version must be raised.
    """
    versions = {"answers": KINDS[entry.kind].version, "readers": reader_version(benchmark) if benchmark else ""}
    if entry.kind == "released":  # no model answers, and nothing is stored: the reader of a format is code as any other
        modules = "benchmarks.{benchmark}.released", "benchmarks.shared.predictions"
        versions["import"] = code_of_step("answer_requests", benchmark or "", *modules)
    return {"kind": entry.kind, "versions": versions} | that_change(entry, "answers")


def digest_of(paths: list[str]) -> str:
    """SHA-256 over the bytes of shipped files. Their times say nothing: a checkout sets them as it likes."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()[:16]


def digest_of_texts(benchmarks: Iterable[str]) -> str:
    """SHA-256 over what pages say of ``benchmarks``: titles, citations, captions, and what each metric means."""
    specs = (load_spec(name) for name in benchmarks)
    texts = [(spec.title, spec.citation, spec.tables, spec.figures, spec.metrics) for spec in specs]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:16]
