"""What a script can reach in the library, definition by definition, and a digest of it that says what the code does.

From the script's own statements on, every name and dotted name is followed to the definition that it stands for:
through relative imports, re-exports of packages, and imports inside functions. A class brings its bases, fields,
dunders and validators; any other method of it counts only once its name is mentioned, as an attribute or in a string,
in what is reached. A module's statements that define nothing count once anything in the module is reached.

The digest is of their normal forms (:mod:`biasatlas.workflow.normal_form`) and the same for all versions of Python.
"""

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from biasatlas.workflow.modules import PACKAGE, Definition, Module, ours, read_module
from biasatlas.workflow.normal_form import Form, Reference, form_of, form_of_script

#: Rounds in which a definition's hash takes in the hashes of what it refers to. Names do not count, so definitions are
#: distinguished by what they reach in six steps.
ROUNDS = 6

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
#: An expression or a statement in a template of Jinja.
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)

#: Boundary -> what gives the names that take the place of its definition.
Boundaries = Mapping[str, Callable[[Reference], Iterable[str]]]
#: Prefix of a class of which only the methods count: its objects were made when the run was planned.
METHODS = "methods of "


class Library:
    """The library's source below ``root`` (``scripts/``), read once; ``edited`` maps paths to texts that replace files.

    ``calls`` are functions whose literal arguments count; ``templates`` classes that render a folder's templates.
    """

    def __init__(
        self,
        root: Path,
        edited: Mapping[str, str] | None = None,
        calls: frozenset[str] = frozenset(),
        templates: Mapping[str, str] | None = None,
    ):
        self.root, self._edited, self._calls, self._templates = root, edited or {}, calls, templates or {}
        self._modules: dict[str, Module | None] = {}
        self._resolved: dict[str, tuple[Definition | None, str, tuple[str, ...]]] = {}

    def _source(self, path: str) -> str | None:
        if path in self._edited:
            return self._edited[path]
        file = self.root / path
        return file.read_text(encoding="utf-8") if file.is_file() else None

    def module(self, name: str) -> Module | None:
        """A module of the library by its dotted name; None where there is none."""
        if name not in self._modules:
            path = name.replace(".", "/")
            self._modules[name] = None
            for file in (f"{path}.py", f"{path}/__init__.py"):
                source = self._source(file)
                if source is not None:
                    self._modules[name] = read_module(name, source, file.endswith("/__init__.py"), self._calls)
                    break
                if file.endswith("/__init__.py") and (self.root / path).is_dir():
                    self._modules[name] = read_module(name, "", True, self._calls)
        return self._modules[name]

    def named_in_templates(self, definition: Definition) -> set[str]:
        """Names in the expressions of the templates that a class renders: of attributes, of variables, in strings."""
        folder = self._templates.get(f"{definition.module}.{definition.name}")
        if folder is None:
            return set()
        paths = (path.relative_to(self.root).as_posix() for path in sorted((self.root / folder).iterdir()))
        expressions = (text for path in paths for text in _EXPRESSION.findall(self._source(path) or ""))
        return {name for text in expressions for name in _IDENTIFIER.findall(text)}

    def script(self, name: str) -> Module:
        """A script by its name below ``scripts/``. Raises ValueError where there is none."""
        source = self._source(f"{name}.py")
        if source is None:
            raise ValueError(f"{name}: no script of this name")
        return read_module(name, source, False, self._calls)

    def resolve(self, name: str) -> tuple[Definition | None, str, tuple[str, ...]]:
        """What a name stands for: (definition, "", rest of the name), (None, module, ()), or nothing (None, "", ())."""
        if name not in self._resolved:
            self._resolved[name] = self._resolve(name)
        return self._resolved[name]

    def _resolve(self, name: str) -> tuple[Definition | None, str, tuple[str, ...]]:
        parts, place, here = name.split("."), 1, PACKAGE
        while place < len(parts):
            module, part = self.module(here), parts[place]
            if module and part in module.bound:
                return Definition(here, part), "", tuple(parts[place + 1 :])
            if module and part in module.imports and module.imports[part] != f"{here}.{part}":
                return self.resolve(".".join([module.imports[part], *parts[place + 1 :]])) if ours(
                    module.imports[part]
                ) else (None, "", ())  # fmt: skip
            if self.module(f"{here}.{part}") is None:
                return None, "", ()
            here, place = f"{here}.{part}", place + 1
        return None, here, ()

    def marked(self, package: str, decorator: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """(dotted name, names in the decorator) of each function of a package with the ``@decorator("name", ...)``."""
        for module in self.modules(package):
            for bound, nodes in module.bound.items():
                for call in (each for node in nodes for each in getattr(node, "decorator_list", ())):
                    if isinstance(call, ast.Call) and module.target(call.func) == decorator:
                        names = (str(each.value) for each in call.args if isinstance(each, ast.Constant))
                        yield f"{module.name}.{bound}", tuple(names)

    def modules(self, package: str) -> Iterator[Module]:
        """The modules of a package's folder, in the order of their names."""
        for path in sorted((self.root / package.replace(".", "/")).glob("*.py")):
            if module := self.module(f"{package}.{path.stem}"):
                yield module

    def reach(self, module: Module, boundaries: Boundaries, roots: Iterable[str] = ()) -> "Reach":
        """All that a script's statements, and ``roots``, can reach; ``boundaries`` say what to follow instead."""
        return Reach(self, form_of_script(module), boundaries, roots)


class Reach:
    """The definitions that a script reaches (``forms``), boundaries that it ``crossed``, and ``unknown`` names."""

    def __init__(self, library: Library, script: Form, boundaries: Boundaries, roots: Iterable[str]):
        self._library, self._boundaries = library, boundaries
        self.forms: dict[Definition, Form] = {}
        self.crossed: set[str] = set()
        self.unknown: set[str] = set()
        self._links: dict[Reference, list[tuple[str, object, tuple[str, ...]]]] = {}
        self._mentions: set[str] = set()
        self._methods: dict[str, list[Definition]] = defaultdict(list)
        self._values: set[str] = set()
        self._modules: set[str] = set()
        self._classes: set[Definition] = set()
        self._seen: set[Definition] = set()
        self._todo: list[tuple[Definition, Form]] = [(Definition("", "script"), script)]
        for root in roots:
            self._enter(root)
        while self._todo:
            definition, form = self._todo.pop()
            self.forms[definition] = form
            for name in form.mentions - self._mentions:
                self._mention(name)
            for reference in form.references:
                self._follow(reference)

    def digest(self) -> str:
        """SHA-256 of all that is reached: of what each definition does, and of how they hang together."""
        forms, references = self.forms, {key: form.references for key, form in self.forms.items()}
        hashes = {key: _sha256(form.text) for key, form in forms.items()}
        for _ in range(ROUNDS):
            hashes = {
                key: _sha256(" ".join([hashes[key], *(self._hash(each, hashes) for each in references[key])]))
                for key in forms
            }
        return _sha256(" ".join(sorted(hashes.values())))

    def _hash(self, reference: Reference, hashes: Mapping[Definition, str]) -> str:
        found = []
        for kind, target, rest in self._links[reference]:
            known = hashes[target] if kind == "definition" and target in hashes else kind  # type: ignore[index]
            found.append(".".join([known, *rest]))
        return f"({' '.join(found)})"

    def _follow(self, reference: Reference) -> None:
        if reference in self._links:
            return
        self._links[reference] = []
        definition, module, rest = self._library.resolve(reference.name)
        dotted = f"{definition.module}.{definition.name}" if definition else module
        if definition and rest and f"{dotted}.{rest[0]}" in self._boundaries:
            dotted, rest = f"{dotted}.{rest[0]}", rest[1:]
        if definition and definition.module in self._boundaries:
            dotted = definition.module
        names = list(self._boundaries[dotted](reference)) if dotted in self._boundaries else [dotted]
        if dotted not in names:  # a boundary that gives itself is no boundary
            self.crossed.add(dotted)
            self._links[reference].append((f"boundary {dotted}", None, rest))
            for name in names:
                self._enter(name)
        elif definition:
            self._links[reference].append(("definition", definition, rest))
            self._add(definition)
        elif module:
            self._links[reference].append(("module", module, ()))
            self._take_module(module)
        else:
            self._links[reference].append(("nothing", None, ()))
            self.unknown.add(reference.name)
        for name in rest:
            self._mention(name)

    def _enter(self, name: str) -> None:
        """Follow what replaces a boundary: a definition, a module (mentioned definitions count), or methods alone."""
        if name.startswith(METHODS):
            definition, _, _ = self._library.resolve(name.removeprefix(METHODS))
            if definition:
                self._take_class(definition)
        else:
            self._follow(Reference(name))

    def _add(self, definition: Definition) -> None:
        if definition in self._seen:
            return
        self._seen.add(definition)
        module = self._library.module(definition.module)
        assert module is not None
        self._todo.append((definition, form_of(module, definition.name, definition.method)))
        self._imported(definition.module)
        if not definition.method:
            self._take_class(definition, follow=False)
            for name in self._library.named_in_templates(definition):
                self._mention(name)

    def _imported(self, name: str) -> None:
        """Once anything in a module is reached, what importing the module does counts too."""
        if name in self._modules:
            return
        self._modules.add(name)
        module = self._library.module(name)
        if module and module.effects:
            self._todo.append((Definition(name, ""), form_of(module, "")))

    def _take_class(self, definition: Definition, follow: bool = True) -> None:
        """Let the methods of a class count once their names are mentioned; with ``follow``, those of its bases too."""
        if definition in self._classes:
            return
        self._classes.add(definition)
        module = self._library.module(definition.module)
        assert module is not None
        for name in module.methods(definition.name):
            method = Definition(definition.module, definition.name, name)
            self._methods[name].append(method)
            if name in self._mentions:
                self._take_method(method)
        if follow:
            for base in module.bases(definition.name):
                found, _, _ = self._library.resolve(base)
                if found:
                    self._take_class(found)

    def _take_method(self, method: Definition) -> None:
        name = f"{method.module}.{method.name}.{method.method}"
        if name in self._boundaries:
            self.crossed.add(name)
            for each in self._boundaries[name](Reference(name)):
                self._enter(each)
        else:
            self._add(method)

    def _mention(self, name: str) -> None:
        if name in self._mentions:
            return
        self._mentions.add(name)
        for method in self._methods.get(name, ()):
            self._take_method(method)
        for module in list(self._values):
            self._take_member(module, name)

    def _take_module(self, name: str) -> None:
        """Let each definition of a module that is used as a value count once its name is mentioned."""
        if name in self._values:
            return
        self._values.add(name)
        self._imported(name)
        for mention in list(self._mentions):
            self._take_member(name, mention)

    def _take_member(self, module: str, name: str) -> None:
        source = self._library.module(module)
        if source and (name in source.bound or ours(source.imports.get(name, ""))):
            self._follow(Reference(f"{module}.{name}"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
