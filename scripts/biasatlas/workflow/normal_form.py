"""Definitions of a module, each in a normal form that says what its code does.

It is without comments, docstrings, descriptions of fields of the configuration, annotations of functions, log messages,
names of local variables and private names: renaming or moving a function changes nothing. It is the same for all versions
of Python.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.util import resolve_name

#: The package whose definitions are followed; all else is known by its name.
PACKAGE = "biasatlas"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Decorators of pydantic under which a method runs without being named, and annotations of arguments have a meaning.
_VALIDATORS = {"field_validator", "model_validator", "field_serializer", "model_serializer", "computed_field"}
#: Bases that call no method of a class by a name of their own.
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
_LOG_LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
#: Functions that see the names of variables.
_NAMING = {"locals", "eval", "exec"}
#: What arguments of a log message may call, for it to be left out: nothing that could change anything.
_HARMLESS = {"len", "str", "sorted"}


@dataclass(frozen=True)
class Reference:
    """What a place in code stands for: the dotted name, and the literal arguments where it is a call that chooses by them."""

    name: str
    literals: tuple[str | None, ...] = ()


@dataclass
class Form:
    """A definition in normal form: ``references`` in the order of their places in ``text``, and names it ``mentions``."""

    text: str
    references: list[Reference]
    mentions: set[str]


@dataclass(frozen=True, order=True)
class Definition:
    """A name of a module, or with ``method`` a method of a class of it; "" is what a module does when it is imported."""

    module: str
    name: str
    method: str = ""


class Module:
    """A module's source: what its top binds, imports and does. ``calls`` are functions whose literal arguments count."""

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
            elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                self.bound[node.name].append(node)
                if any(self._registers(each) for each in node.decorator_list):
                    self.effects.append(node)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and all(map(_plain, _targets(node))):
                for name in _names(node):
                    self.bound[name].append(node)
            elif isinstance(node, ast.If) and _is_name(node.test, "TYPE_CHECKING"):
                self._read(node.orelse)
            elif not _is_docstring(node) and not isinstance(node, ast.Pass):
                self.effects.append(node)
                for name, target in _bindings([node], self.imported).items():
                    if target:
                        self.imports[name] = target
                    else:
                        self.bound[name].append(node)

    def _registers(self, decorator: ast.expr) -> bool:
        """Whether a decorator is the library's own: it may keep what it decorates where nothing refers to it."""
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        name = self.target(decorator)
        return _ours(name) and name not in self.calls

    def target(self, node: ast.expr) -> str:
        """The dotted name that a name, or a dotted one, at the top stands for; "" where it is neither."""
        if isinstance(node, ast.Attribute):
            base = self.target(node.value)
            return base and f"{base}.{node.attr}"
        name = node.id if isinstance(node, ast.Name) else ""
        return f"{self.name}.{name}" if name in self.bound else self.imports.get(name, "")

    def imported(self, node: ast.Import | ast.ImportFrom) -> dict[str, str]:
        """Local name -> dotted name of what a statement imports. Raises ValueError for ``*`` from the library."""
        if isinstance(node, ast.Import):
            return {each.asname or each.name.partition(".")[0]: each.name if each.asname else each.name.partition(".")[0]
                    for each in node.names}  # fmt: skip
        base = resolve_name("." * node.level + (node.module or ""), self._package) if node.level else node.module or ""
        if _ours(base) and any(each.name == "*" for each in node.names):
            raise ValueError(f"{self.name}: import the names of {base} that are used; nobody can tell what * brings")
        return {each.asname or each.name: f"{base}.{each.name}" for each in node.names}

    @cached_property
    def _forms(self) -> dict[tuple[str, str], Form]:
        return {}

    def form(self, name: str, method: str = "") -> Form:
        """The normal form of one of its definitions; of what it does at the top for the name ""."""
        key = name, method
        if key not in self._forms:
            self._forms[key] = self._form(name, method)
        return self._forms[key]

    def _form(self, name: str, method: str) -> Form:
        writer = _Writer(self)
        if method:
            for node in self.methods(name)[method]:
                writer.write_method(node, name)
        elif name:
            for node in self.bound[name]:
                writer.write_top(node, name)
        else:
            writer.write_body(self.effects)
        return writer.form()

    def whole(self) -> Form:
        """The normal form of all statements, as those of one function without a name: of a script."""
        writer = _Writer(self, script=True)
        writer.write_script(self.tree.body)
        return writer.form()

    def methods(self, name: str) -> dict[str, list[ast.stmt]]:
        """The methods of class ``name`` that count only where their names are mentioned, by name."""
        found: dict[str, list[ast.stmt]] = defaultdict(list)
        for node in self.bound.get(name, ()):
            if isinstance(node, ast.ClassDef) and not _noisy(node, self.imports):
                for each in node.body:
                    if isinstance(each, _FUNCTIONS) and not _runs_unnamed(each):
                        found[each.name].append(each)
        return found

    def bases(self, name: str) -> list[str]:
        """Dotted names of the bases of class ``name`` that are the library's own."""
        writer = _Writer(self)
        for node in self.bound.get(name, ()):
            if isinstance(node, ast.ClassDef):
                writer.write_all(node.bases)
        return [each.name for each in writer.references]


def _plain(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(_plain, target.elts)))


def _targets(node: ast.stmt) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]


def _names(node: ast.stmt) -> list[str]:
    """Names that an assignment binds, in their order."""
    return [each.id for target in _targets(node) for each in ast.walk(target) if isinstance(each, ast.Name)]


def _ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def _is_name(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _called(node: ast.expr) -> str:
    """The last part of a decorator's or a base's name."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _runs_unnamed(node: ast.stmt) -> bool:
    """Whether a method runs without anyone naming it: a dunder, or a validator."""
    dunder = node.name.startswith("__") and node.name.endswith("__")  # type: ignore[attr-defined]
    return dunder or any(_called(each) in _VALIDATORS for each in node.decorator_list)  # type: ignore[attr-defined]


def _noisy(node: ast.ClassDef, imports: Mapping[str, str]) -> bool:
    """Whether a base from elsewhere may call any method by name, as json.JSONEncoder does ``default``."""
    for base in node.bases:
        root = base
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        foreign = isinstance(root, ast.Name) and root.id in imports and not _ours(imports[root.id])
        if foreign and _called(base) not in _QUIET_BASES:
            return True
    return False


def _bindings(
    nodes: Iterable[ast.AST], imported: Callable[[ast.Import | ast.ImportFrom], dict[str, str]]
) -> dict[str, str]:
    """Names that a scope binds -> what is imported by them, "" for variables. Scopes within are left out."""
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
            for key in ("name", "rest"):  # of an exception that is caught, and of patterns
                if isinstance(getattr(node, key, None), str):
                    found[getattr(node, key)] = ""
        todo.extend(ast.iter_child_nodes(node))
    return {name: target for name, target in found.items() if name not in outside}


@dataclass
class _Scope:
    """What a function, a class or a comprehension binds: imports by name, variables with their number, or None to keep."""

    imports: dict[str, str] = field(default_factory=dict)
    variables: dict[str, int | None] = field(default_factory=dict)
    of_class: bool = False


class _Writer:
    """Writes statements in normal form."""

    def __init__(self, module: Module, script: bool = False):
        self._module, self._script = module, script
        self._text: list[str] = []
        self.references: list[Reference] = []
        self._mentions: set[str] = set()
        self._scopes: list[_Scope] = []
        self._own: dict[str, int] = {}
        self._numbers = 0

    def form(self) -> Form:
        """What was written."""
        return Form(" ".join(self._text), self.references, self._mentions)

    def refer(self, reference: Reference) -> None:
        """A place that stands for a definition of the library."""
        self._text.append("$")
        self.references.append(reference)

    # Definitions.

    def write_script(self, body: list[ast.stmt]) -> None:
        """Statements of a script: all count, and its variables are local."""
        self._enter(body)
        self.write_body(body)

    def write_top(self, node: ast.stmt, name: str) -> None:
        """A statement at the top of a module that binds ``name``, which itself is left out; a class keeps its name."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._own = {each: place for place, each in enumerate(_names(node))}
            self._text.append(f"@{self._own[name]}")
        if isinstance(node, _FUNCTIONS):
            self._write_function(node, named=False)
        else:
            self.write(node)
        self._own = {}

    def write_method(self, node: ast.stmt, owner: str) -> None:
        """A method of a class: a function that keeps its name, and its owner's."""
        self._text.append(owner)
        self._write_function(node)

    def write_body(self, body: Iterable[ast.stmt]) -> None:
        """Statements, less those that do nothing here."""
        self._text.append("[")
        for node in body:
            if not self._is_idle(node):
                self.write(node)
        self._text.append("]")

    def write_all(self, nodes: Iterable[ast.AST]) -> None:
        """Some nodes, one after the other."""
        for node in nodes:
            self.write(node)

    # Nodes.

    def write(self, node: ast.AST) -> None:
        """Any node."""
        if isinstance(node, ast.Name):
            self._write_name(node.id, [])
        elif isinstance(node, ast.Attribute):
            self._write_attribute(node)
        elif isinstance(node, ast.Constant):
            self._write_constant(node.value)
        elif isinstance(node, _FUNCTIONS):
            self._write_function(node)
        elif isinstance(node, ast.Lambda):
            self._write_lambda(node)
        elif isinstance(node, ast.ClassDef):
            self._write_class(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._write_comprehension(node)
        elif isinstance(node, ast.AnnAssign):
            self._write_annotated(node)
        elif isinstance(node, ast.Call) and self._write_choosing_call(node):
            pass
        elif isinstance(node, ast.Call) and self._is_field(node.func):
            said = [
                each for each in node.keywords if each.arg != "description" or not isinstance(each.value, ast.Constant)
            ]
            self._write_fields(ast.Call(node.func, node.args, said))
        else:
            self._write_fields(node)

    def _is_field(self, function: ast.expr) -> bool:
        """Whether a call declares a field of the configuration, whose description only documents it."""
        return isinstance(function, ast.Name) and self._target(function.id) == f"{PACKAGE}.stages.field"

    def _write_fields(self, node: ast.AST) -> None:
        self._text.append(f"{type(node).__name__}(")
        for key, value in ast.iter_fields(node):
            if key in ("ctx", "type_comment", "kind", "type_params"):
                continue
            if key in ("name", "rest") and isinstance(value, str):
                self._write_name(value, [])
            elif key in ("names",) and isinstance(node, ast.Global | ast.Nonlocal):
                for name in value:
                    self._write_name(name, [])
            elif isinstance(value, list) and key in ("body", "orelse", "finalbody") and _statements(value):
                self.write_body(value)
            elif isinstance(value, list):
                self._text.append("[")
                for each in value:
                    if isinstance(each, ast.AST):
                        self.write(each)
                    else:
                        self._text.append(repr(each))
                        self._mention(each)
                self._text.append("]")
            elif isinstance(value, ast.AST):
                self.write(value)
            else:
                self._text.append(f"{key}={value!r}")
        self._text.append(")")

    def _write_constant(self, value: object) -> None:
        self._text.append(f"{value!r}")
        self._mention(value)

    def _mention(self, value: object) -> None:
        if isinstance(value, str) and len(value) < 200:
            self._mentions.update(part for part in value.split(".") if part.isidentifier())

    def _write_attribute(self, node: ast.Attribute) -> None:
        attributes: list[str] = []
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            attributes.insert(0, root.attr)
            root = root.value
        if isinstance(root, ast.Name):
            self._write_name(root.id, attributes)
        else:
            self.write(root)
            self._write_attributes(attributes)

    def _write_attributes(self, attributes: list[str]) -> None:
        self._text.extend(f".{name}" for name in attributes)
        self._mentions.update(attributes)

    def _write_name(self, name: str, attributes: list[str]) -> None:
        """A name and its attributes: a variable, something imported, a definition of the module, or a builtin."""
        target = self._target(name)
        if target is None:
            self._text.append(self._variable(name))
            self._write_attributes(attributes)
        elif _ours(target):
            self.refer(Reference(".".join([target, *attributes])))
        else:
            self._text.append(".".join([target, *attributes]))

    def _scope_of(self, name: str) -> _Scope | None:
        for place, scope in enumerate(reversed(self._scopes)):
            if place and scope.of_class:
                continue
            if name in scope.imports or name in scope.variables:
                return scope
        return None

    def _target(self, name: str) -> str | None:
        """The dotted name of what ``name`` stands for; None for a variable or a builtin."""
        scope = self._scope_of(name)
        if scope:
            return scope.imports.get(name)
        if self._script or name in self._own:
            return None
        if name in self._module.bound:
            return f"{self._module.name}.{name}"
        return self._module.imports.get(name)

    def _imported(self, name: str) -> str | None:
        scope = self._scope_of(name)
        return scope.imports.get(name) if scope else self._module.imports.get(name)

    def _variable(self, name: str) -> str:
        if name in self._own and not self._scope_of(name):
            return f"@{self._own[name]}"
        scope = self._scope_of(name)
        if scope is None or scope.variables[name] is None:
            return name
        if scope.variables[name] == 0:
            self._numbers += 1
            scope.variables[name] = self._numbers
        return f"#{scope.variables[name]}"

    def _write_choosing_call(self, node: ast.Call) -> bool:
        """A call of one of the module's ``calls``: what it stands for depends on its literal arguments."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        target = self._target(name) if name else None
        if target not in self._module.calls:
            return False
        given = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
        self._text.append("Call(")
        self.refer(Reference(target, tuple(each if isinstance(each, str) else None for each in given)))
        self.write_all([*node.args, *node.keywords])
        self._text.append(")")
        return True

    # Statements that do nothing, or that are told apart by what they do.

    def _is_idle(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return True  # names of what is imported stand where they are used
        if _is_docstring(node) or isinstance(node, ast.Pass):
            return True
        if isinstance(node, ast.If) and _is_name(node.test, "TYPE_CHECKING") and not node.orelse:
            return True
        if isinstance(node, ast.AnnAssign) and node.value is None and not (self._scopes and self._scopes[-1].of_class):
            return True
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and self._logs(node.value)

    def _logs(self, call: ast.Call) -> bool:
        """Whether a call writes a log message, and nothing that it is given does anything."""
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in _LOG_LEVELS):
            return False
        root = call.func.value
        if not isinstance(root, ast.Name):
            return False
        made = [each.value for each in self._module.bound.get(root.id, ()) if isinstance(each, ast.Assign)]
        logger = any(isinstance(each, ast.Call) and _called(each) == "getLogger" for each in made)
        if not (logger and not self._scope_of(root.id)) and self._imported(root.id) != "logging":
            return False
        calls = [each for given in (*call.args, *call.keywords) for each in ast.walk(given)]
        return all(
            isinstance(each.func, ast.Name) and each.func.id in _HARMLESS
            for each in calls
            if isinstance(each, ast.Call)
        )

    # Scopes.

    def _enter(self, body: Iterable[ast.AST], arguments: ast.arguments | None = None) -> _Scope:
        bound = _bindings(body, self._module.imported)
        keep = any(isinstance(each, ast.Name) and each.id in _NAMING for node in body for each in ast.walk(node))
        variables: dict[str, int | None] = {name: None if keep else 0 for name, target in bound.items() if not target}
        variables |= dict.fromkeys(_arguments(arguments))
        imports = {name: target for name, target in bound.items() if target and name not in variables}
        scope = _Scope(imports, variables)
        self._scopes.append(scope)
        return scope

    def _write_function(self, node: ast.AST, named: bool = True) -> None:
        assert isinstance(node, _FUNCTIONS)
        typed = any(_called(each) in _VALIDATORS for each in node.decorator_list)
        self._text.append(f"{type(node).__name__}(")
        in_class = bool(self._scopes and self._scopes[-1].of_class)
        if named:
            if self._scopes and not in_class:
                self._write_name(node.name, [])
            else:
                self._text.append(node.name)
        self.write_all(node.decorator_list)
        self._write_arguments(node.args, typed)
        self._enter(node.body, node.args)
        self.write_body(node.body)
        self._scopes.pop()
        self._text.append(")")

    def _write_lambda(self, node: ast.Lambda) -> None:
        self._text.append("Lambda(")
        self._write_arguments(node.args)
        self._enter([node.body], node.args)
        self.write(node.body)
        self._scopes.pop()
        self._text.append(")")

    def _write_arguments(self, arguments: ast.arguments, typed: bool = False) -> None:
        self._text.append("(")
        for key in ("posonlyargs", "args", "vararg", "kwonlyargs", "kwarg"):
            value = getattr(arguments, key)
            for each in value if isinstance(value, list) else [value] if value else []:
                self._text.append(f"{key}:{each.arg}")
                if typed and each.annotation:
                    self.write(each.annotation)
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            self._text.append("=")
            if default:
                self.write(default)
        self._text.append(")")

    def _write_class(self, node: ast.ClassDef) -> None:
        """A class: all of it inside a function; else without the methods that count only where they are mentioned."""
        self._text.append(f"ClassDef({node.name}")
        self.write_all([*node.decorator_list, *node.bases, *node.keywords])
        top = not self._scopes and node in self._module.bound.get(node.name, ())
        apart = self._module.methods(node.name) if top else {}
        body = [each for each in node.body if not (isinstance(each, _FUNCTIONS) and each in apart.get(each.name, ()))]
        scope = _Scope(of_class=True)
        bound = _bindings(node.body, self._module.imported)
        scope.variables = {name: None for name, target in bound.items() if not target}
        scope.imports = {name: target for name, target in bound.items() if target}
        self._scopes.append(scope)
        self.write_body(body)
        self._scopes.pop()
        self._text.append(")")

    def _write_comprehension(self, node: ast.AST) -> None:
        first, targets = node.generators[0], [each.target for each in node.generators]  # type: ignore[attr-defined]
        self._text.append(f"{type(node).__name__}(")
        self.write(first.iter)  # which the scope around it evaluates
        self._enter(targets)
        self.write_all([first.target, *first.ifs, *node.generators[1:]])  # type: ignore[attr-defined]
        self.write_all(getattr(node, key) for key in ("key", "value", "elt") if hasattr(node, key))
        self._scopes.pop()
        self._text.append(")")

    def _write_annotated(self, node: ast.AnnAssign) -> None:
        self._text.append("Assign(")
        self.write(node.target)
        if self._scopes and self._scopes[-1].of_class:
            self.write(_parsed(node.annotation))
        if node.value:
            self.write(node.value)
        self._text.append(")")


def _statements(value: list) -> bool:
    return bool(value) and isinstance(value[0], ast.stmt)


def _arguments(arguments: ast.arguments | None) -> Iterator[str]:
    if arguments:
        several = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        yield from (each.arg for each in (*several, arguments.vararg, arguments.kwarg) if each)


def _parsed(annotation: ast.expr) -> ast.expr:
    """An annotation that is quoted, as an expression."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


@lru_cache(maxsize=4096)
def read_module(name: str, source: str, package: bool, calls: frozenset[str]) -> Module:
    return Module(name, source, package, calls)


#: What stands behind a boundary: references that take the place of its definition.
Boundaries = Mapping[str, Callable[[Reference], Iterable[str]]]
