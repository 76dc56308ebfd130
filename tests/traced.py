"""Trace a script of the workflow: which definitions of the library ran, which files it opened.

A statement at the beginning of each function of the library reports that it runs, which takes far less time than
profiling every call. What runs below a boundary (named in boundaries.json beside the traces) is left out, by the call
stack; so is what runs while a module is imported.
"""

import ast
import builtins
import json
import marshal
import os
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from typing import Any


class Instrumented(ast.NodeTransformer):
    """Calls ``_ran(module, name, method)`` first in each function at the top of ``module``, or in a class there.

    A function inside a function is part of it. A lambda that is assigned at the top of a module has no name.
    """

    def __init__(self, module: str):
        self._module, self._owner, self._locked = module, (), False

    def _call(self) -> ast.expr:
        name, method = (*self._owner, "")[:2]
        return ast.parse(f"_ran({self._module!r}, {name!r}, {method!r})", mode="eval").body

    def _definition(self, node):
        owner, locked = self._owner, self._locked
        if not locked:
            self._owner = (*owner, node.name)
            self._locked = bool(owner) or not isinstance(node, ast.ClassDef)
        self.generic_visit(node)
        if not isinstance(node, ast.ClassDef):
            node.body.insert(1 if ast.get_docstring(node) is not None else 0, ast.Expr(self._call()))
        self._owner, self._locked = owner, locked
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition

    def visit_Lambda(self, node):
        self.generic_visit(node)
        if self._owner:
            node.body = ast.Subscript(ast.Tuple([self._call(), node.body], ast.Load()), ast.Constant(1), ast.Load())
        return node


def trace(folder: str) -> Callable[[str, Any], None]:  # noqa: C901
    """Trace what is imported of the library from now on; the function returned writes a script's trace to ``folder``."""
    with open(os.path.join(folder, "boundaries.json"), encoding="utf-8") as file:
        given = json.load(file)
    library, resources, boundaries = given["library"], given["resources"], set(given["boundaries"])
    ran: set[tuple[str, str, str]] = set()
    opened: set[str] = set()
    seen: dict[object, bool] = {}

    def module_of(path: str) -> str:
        return f"biasatlas.{path[len(library) :].removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")

    def outside(code) -> bool:
        """Whether a code object is a boundary's, or the top level of a module, which runs when it is imported."""
        if code not in seen:
            seen[code] = False
            if code.co_filename.startswith(library):
                names = [module_of(code.co_filename), *code.co_qualname.split(".")]
                prefixes = [".".join(names[:length]) for length in range(1, 4)]
                seen[code] = code.co_name == "<module>" or bool(boundaries.intersection(prefixes))
        return seen[code]

    def below(frame) -> bool:
        while frame is not None:
            if outside(frame.f_code):
                return True
            frame = frame.f_back
        return False

    def runs(*definition: str) -> None:
        if definition not in ran and not below(sys._getframe(1)):
            ran.add(definition)

    def get_code(loader, name):
        """The code of a module; the library's is instrumented, and compiled once for all jobs."""
        path = loader.get_filename(name)
        if not path.startswith(library):
            return plain_code(loader, name)
        kept = os.path.join(folder, f"{name}.code")
        if not os.path.exists(kept):
            tree = Instrumented(module_of(path)).visit(ast.parse(loader.get_data(path)))
            with open(f"{kept}.{os.getpid()}", "wb") as file:
                marshal.dump(compile(ast.fix_missing_locations(tree), path, "exec"), file)
            os.replace(file.name, kept)
        with open(kept, "rb") as file:
            return marshal.load(file)

    def audit(event, values) -> None:
        if event == "open" and isinstance(values[0], str) and os.path.realpath(values[0]) not in opened:
            path = os.path.realpath(values[0])
            if path.startswith(resources) and not below(sys._getframe(1)):
                opened.add(path)

    def write(script: str, snakemake: Any) -> None:
        job = {
            "script": os.path.basename(script).split(".", 1)[1].removesuffix(".py"),
            "rule": snakemake.rule,
            "wildcards": dict(snakemake.wildcards.items()),
            "inputs": [os.path.realpath(path) for path in snakemake.input],
            "ran": sorted(ran),
            "opened": sorted(opened),
        }
        with open(os.path.join(folder, f"{os.getpid()}.json"), "w", encoding="utf-8") as file:
            json.dump(job, file)

    plain_code, SourceFileLoader.get_code = SourceFileLoader.get_code, get_code
    builtins._ran = runs
    sys.addaudithook(audit)
    return write
