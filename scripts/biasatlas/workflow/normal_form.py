"""Definitions of a module, each in a normal form that says what its code does.

It is without comments, docstrings, descriptions of fields of the configuration, annotations of functions, log messages,
names of local variables and private names: renaming or moving a function changes nothing. It is the same for all
versions of Python.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from biasatlas.workflow.modules import (
    FUNCTIONS,
    PACKAGE,
    VALIDATORS,
    Module,
    assigned,
    bindings,
    called,
    is_docstring,
    is_name,
    ours,
)

_LOG_LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
#: Functions that see the names of variables.
_NAMING = {"locals", "eval", "exec"}
#: Functions without effects. A log message is left out only if its arguments call no others.
_HARMLESS = {"len", "str", "sorted"}


@dataclass(frozen=True)
class Reference:
    """What a place in code refers to: a dotted name and, for a call that chooses by them, literal arguments."""

    name: str
    literals: tuple[str | None, ...] = ()


@dataclass
class Form:
    """A definition in normal form, ``references`` in the order of their places in ``text``, and names it mentions."""

    text: str
    references: list[Reference]
    mentions: set[str]


@cache
def form_of(module: Module, name: str, method: str = "") -> Form:
    """The normal form of one of a module's definitions; for the name "", that of what its top level does."""
    writer = _Writer(module)
    if method:
        for node in module.methods(name)[method]:
            writer.write_method(node, name)
    elif name:
        for node in module.bound[name]:
            writer.write_top(node, name)
    else:
        writer.write_body(module.effects)
    return writer.form()


def form_of_script(module: Module) -> Form:
    """The normal form of all statements, as those of one function without a name."""
    writer = _Writer(module, script=True)
    writer.write_script(module.tree.body)
    return writer.form()


@dataclass
class _Scope:
    """What a function, class or comprehension binds: imports; and variables with numbers, None for kept names."""

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
        """The normal form of all that was written."""
        return Form(" ".join(self._text), self.references, self._mentions)

    def refer(self, reference: Reference) -> None:
        """Write a place that refers to a definition of the library."""
        self._text.append("$")
        self.references.append(reference)

    # Definitions.

    def write_script(self, body: list[ast.stmt]) -> None:
        """Write the statements of a script: all count, and its variables are local."""
        self._enter(body)
        self.write_body(body)

    def write_top(self, node: ast.stmt, name: str) -> None:
        """Write a top-level statement that binds ``name``, without the name itself; but a class keeps its name."""
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._own = {each: place for place, each in enumerate(assigned(node))}
            self._text.append(f"@{self._own[name]}")
        if isinstance(node, FUNCTIONS):
            self._write_function(node, named=False)
        else:
            self.write(node)
        self._own = {}

    def write_method(self, node: ast.stmt, owner: str) -> None:
        """Write a method: a function that keeps its name, and that of its class (``owner``)."""
        self._text.append(owner)
        self._write_function(node)

    def write_body(self, body: Iterable[ast.stmt]) -> None:
        """Write statements, except those that do nothing here."""
        self._text.append("[")
        for node in body:
            if not self._is_idle(node):
                self.write(node)
        self._text.append("]")

    def write_all(self, nodes: Iterable[ast.AST]) -> None:
        """Write some nodes, one after the other."""
        for node in nodes:
            self.write(node)

    # Nodes.

    def write(self, node: ast.AST) -> None:
        """Write any node."""
        getattr(self, f"_write_{type(node).__name__}", self._write_fields)(node)

    def _write_Name(self, node: ast.Name) -> None:
        self._write_name(node.id, [])

    def _write_Call(self, node: ast.Call) -> None:
        if not self._write_choosing_call(node):
            said = node.keywords
            if self._is_field(node.func):
                said = [each for each in said if each.arg != "description" or not isinstance(each.value, ast.Constant)]
            self._write_fields(ast.Call(node.func, node.args, said))

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

    def _write_Constant(self, node: ast.Constant) -> None:
        self._text.append(f"{node.value!r}")
        self._mention(node.value)

    def _mention(self, value: object) -> None:
        if isinstance(value, str) and len(value) < 200:
            self._mentions.update(part for part in value.split(".") if part.isidentifier())

    def _write_Attribute(self, node: ast.Attribute) -> None:
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
        """Write a name and its attributes: a variable, an import, a definition of the module, or a builtin."""
        target = self._target(name)
        if target is None:
            self._text.append(self._variable(name))
            self._write_attributes(attributes)
        elif ours(target):
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
        """Write ``node`` if it is one of the module's ``calls``, which choose by literal arguments; whether it is."""
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

    # Statements that do nothing.

    def _is_idle(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Import | ast.ImportFrom):
            return True  # imported names are written where they are used
        if is_docstring(node) or isinstance(node, ast.Pass):
            return True
        if isinstance(node, ast.If) and is_name(node.test, "TYPE_CHECKING") and not node.orelse:
            return True
        if isinstance(node, ast.AnnAssign) and node.value is None and not (self._scopes and self._scopes[-1].of_class):
            return True
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and self._logs(node.value)

    def _logs(self, call: ast.Call) -> bool:
        """Whether a call writes a log message and its arguments have no effects."""
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in _LOG_LEVELS):
            return False
        root = call.func.value
        if not isinstance(root, ast.Name):
            return False
        made = [each.value for each in self._module.bound.get(root.id, ()) if isinstance(each, ast.Assign)]
        logger = any(isinstance(each, ast.Call) and called(each) == "getLogger" for each in made)
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
        bound = bindings(body, self._module.imported)
        keep = any(isinstance(each, ast.Name) and each.id in _NAMING for node in body for each in ast.walk(node))
        variables: dict[str, int | None] = {name: None if keep else 0 for name, target in bound.items() if not target}
        variables |= dict.fromkeys(_arguments(arguments))
        imports = {name: target for name, target in bound.items() if target and name not in variables}
        scope = _Scope(imports, variables)
        self._scopes.append(scope)
        return scope

    def _write_function(self, node: ast.AST, named: bool = True) -> None:
        assert isinstance(node, FUNCTIONS)
        typed = any(called(each) in VALIDATORS for each in node.decorator_list)
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

    _write_FunctionDef = _write_AsyncFunctionDef = _write_function

    def _write_Lambda(self, node: ast.Lambda) -> None:
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

    def _write_ClassDef(self, node: ast.ClassDef) -> None:
        """Write a class; at a module's top level, without the methods that count only once they are mentioned."""
        self._text.append(f"ClassDef({node.name}")
        self.write_all([*node.decorator_list, *node.bases, *node.keywords])
        top = not self._scopes and node in self._module.bound.get(node.name, ())
        apart = self._module.methods(node.name) if top else {}
        body = [each for each in node.body if not (isinstance(each, FUNCTIONS) and each in apart.get(each.name, ()))]
        scope = _Scope(of_class=True)
        bound = bindings(node.body, self._module.imported)
        scope.variables = {name: None for name, target in bound.items() if not target}
        scope.imports = {name: target for name, target in bound.items() if target}
        self._scopes.append(scope)
        self.write_body(body)
        self._scopes.pop()
        self._text.append(")")

    def _write_ListComp(self, node: ast.AST) -> None:
        first, targets = node.generators[0], [each.target for each in node.generators]  # type: ignore[attr-defined]
        self._text.append(f"{type(node).__name__}(")
        self.write(first.iter)  # evaluated in the enclosing scope
        self._enter(targets)
        self.write_all([first.target, *first.ifs, *node.generators[1:]])  # type: ignore[attr-defined]
        self.write_all(getattr(node, key) for key in ("key", "value", "elt") if hasattr(node, key))
        self._scopes.pop()
        self._text.append(")")

    _write_SetComp = _write_DictComp = _write_GeneratorExp = _write_ListComp

    def _write_AnnAssign(self, node: ast.AnnAssign) -> None:
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
    """An annotation as an expression, even if it is quoted."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation
