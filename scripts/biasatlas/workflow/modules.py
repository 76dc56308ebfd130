"""What a module of the library binds, imports and does, according to its source."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import resolve_name

#: The package whose definitions are followed; all else counts by its name alone.
PACKAGE = "biasatlas"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Decorators of pydantic: their methods run without being named, and the annotations of their arguments matter.
VALIDATORS = {"field_validator", "model_validator", "field_serializer", "model_serializer", "computed_field"}
#: Base classes from elsewhere that never call a method of a subclass by its name.
_QUIET_BASES = {
    "BaseModel",
    "Protocol",
    "NamedTuple",
    "Generic",
    "Enum",
    "StrEnum",
    "object",
    "Exception",
    "ValueError",
}


@dataclass(frozen=True, order=True)
class Definition:
    """A name in a module, or a ``method`` of the class of that name; the name "" is what importing the module does."""

    module: str
    name: str
    method: str = ""


class Module:
    """What a module's top level binds, imports and does. ``calls`` are functions whose literal arguments count."""

    def __init__(self, name: str, source: str, package: bool, calls: frozenset[str] = frozenset()):
        self.name, self.calls = name, calls
        self._package = name if package else name.rpartition(".")[0]
        self.bound: dict[str, list[ast.stmt]] = defaultdict(list)
        self.imports: dict[str, str] = {}
        self.effects: list[ast.stmt] = []
        self.tree = ast.parse(source)
        self._read(self.tree.body)

    def _read(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imports.update(self.imported(node))
            elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                self.bound[node.name].append(node)
                if any(self._registers(each) for each in node.decorator_list):
                    self.effects.append(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and all(map(_plain, _targets(node))):
                for name in assigned(node):
                    self.bound[name].append(node)
            elif isinstance(node, ast.If) and is_name(node.test, "TYPE_CHECKING"):
                self._read(node.orelse)
            elif not is_docstring(node) and not isinstance(node, ast.Pass):
                self.effects.append(node)
                for name, target in bindings([node], self.imported).items():
                    if target:
                        self.imports[name] = target
                    else:
                        self.bound[name].append(node)

    def _registers(self, decorator: ast.expr) -> bool:
        """Whether a decorator is the library's, and so may register what it decorates, which nothing else need name."""
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        name = self.target(decorator)
        return ours(name) and name not in self.calls

    def target(self, node: ast.AST) -> str:
        """The full dotted name of what a plain or dotted name at the top level stands for; "" for any other node."""
        if isinstance(node, ast.Attribute):
            base = self.target(node.value)
            return base and f"{base}.{node.attr}"
        name = node.id if isinstance(node, ast.Name) else ""
        return f"{self.name}.{name}" if name in self.bound else self.imports.get(name, "")

    def imported(self, node: ast.Import | ast.ImportFrom) -> dict[str, str]:
        """Local name -> dotted name of what a statement imports. Raises ValueError for ``*`` from the library."""
        if isinstance(node, ast.Import):
            tops = {each: each.name.partition(".")[0] for each in node.names}
            return {each.asname or top: each.name if each.asname else top for each, top in tops.items()}
        base = resolve_name("." * node.level + (node.module or ""), self._package) if node.level else node.module or ""
        if ours(base) and any(each.name == "*" for each in node.names):
            raise ValueError(f"{self.name}: import the names of {base} that are used; nobody can tell what * brings")
        return {each.asname or each.name: f"{base}.{each.name}" for each in node.names}

    def methods(self, name: str) -> dict[str, list[ast.stmt]]:
        """The methods of class ``name`` that count only where their names are mentioned, by name."""
        found: dict[str, list[ast.stmt]] = defaultdict(list)
        for node in self.bound.get(name, ()):
            if isinstance(node, ast.ClassDef) and not _noisy(node, self.imports):
                for each in node.body:
                    if isinstance(each, FUNCTIONS) and not _runs_unnamed(each):
                        found[each.name].append(each)
        return found

    def bases(self, name: str) -> list[str]:
        """Dotted names in the bases of class ``name`` that are the library's own."""
        classes = [node for node in self.bound.get(name, ()) if isinstance(node, ast.ClassDef)]
        named = [each for node in classes for base in node.bases for each in ast.walk(base)]
        return [target for each in named if ours(target := self.target(each))]


def _plain(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(_plain, target.elts)))


def _targets(node: ast.stmt) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]


def assigned(node: ast.stmt) -> list[str]:
    """Names that an assignment binds, in their order."""
    return [each.id for target in _targets(node) for each in ast.walk(target) if isinstance(each, ast.Name)]


def ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def is_name(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def called(node: ast.expr) -> str:
    """The last part of a decorator's or a base's name."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _runs_unnamed(node: ast.stmt) -> bool:
    """Whether a method runs without anyone naming it: a dunder, or a validator."""
    dunder = node.name.startswith("__") and node.name.endswith("__")  # type: ignore[attr-defined]
    return dunder or any(called(each) in VALIDATORS for each in node.decorator_list)  # type: ignore[attr-defined]


def _noisy(node: ast.ClassDef, imports: Mapping[str, str]) -> bool:
    """Whether a base from elsewhere may call any method by name, as json.JSONEncoder does ``default``."""
    for base in node.bases:
        root = base
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        foreign = isinstance(root, ast.Name) and root.id in imports and not ours(imports[root.id])
        if foreign and called(base) not in _QUIET_BASES:
            return True
    return False


def bindings(
    nodes: Iterable[ast.AST], imported: Callable[[ast.Import | ast.ImportFrom], dict[str, str]]
) -> dict[str, str]:
    """Name that a scope binds -> the dotted name that it imports, "" for a variable. Inner scopes are left out."""
    found: dict[str, str] = {}
    outside: set[str] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] = ""
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(imported(node))
            continue
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside.update(node.names)
        elif isinstance(node, _SCOPES):
            found.update({node.name: ""} if not isinstance(node, ast.Lambda) else {})
            continue
        elif isinstance(node, _COMPREHENSIONS):
            todo.extend(each.target for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
            continue
        else:
            for key in ("name", "rest"):  # names bound by ``except`` and by patterns
                if isinstance(getattr(node, key, None), str):
                    found[getattr(node, key)] = ""
        todo.extend(ast.iter_child_nodes(node))
    return {name: target for name, target in found.items() if name not in outside}


@lru_cache(maxsize=4096)
def read_module(name: str, source: str, package: bool, calls: frozenset[str]) -> Module:
    """The module, which is parsed only once."""
    return Module(name, source, package, calls)
