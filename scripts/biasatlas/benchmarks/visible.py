"""What each step may see of its benchmark's declaration: only what is in the step's identity."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

#: Field -> its own fields, or None for all of it; of a mapping the fields of each value, or ``{}`` for its keys alone.
Tree = Mapping[str, Any]
_ALL = None

_PAGE = (
    "title",
    "citation",
    "language",
    "items",
    "tasks",
    "tables",
    "figures",
    "metrics",
    "headlines",
    "shown",
    "published_under",
    "note",
)
_TASK: Tree = {"kind": _ALL, "categories": _ALL}

#: Step -> what it sees of a :class:`biasatlas.benchmarks.contract.Spec`.
SPEC: Mapping[str, Tree] = {
    "read_items": {"items": _ALL},
    "check_items": {"items": _ALL},
    "build_requests": {"tasks": {**_TASK, "requests": _ALL}},
    "build_judge_requests": {"tasks": _TASK},
    "build_order_requests": {"tasks": _TASK},
    "import_responses": {"tasks": _TASK, "formats": {}},
    "read_predictions": {"tasks": _TASK, "formats": {}},
    "score_responses": {"tasks": {**_TASK, "scores": _ALL}},
    "bias_roles": {"tasks": _TASK, "language": _ALL},
    "table": {"metrics": {"neutral": _ALL, "whole": _ALL}, "published_under": _ALL, "tables": {"tasks": _ALL}},
    "figure": {"figures": {"tables": _ALL}},
    "evidence": {"unit": _ALL, "multiverses": _ALL, "headlines": _ALL, "metrics": {"unit": _ALL}},
    "rounds": {"design": _ALL},
    "outcomes": {"metrics": {}},
    "sensitivity": {"metrics": {"neutral": _ALL}},
    "studies": {
        "tasks": {**_TASK, "judged": _ALL},
        "tables": {"tasks": _ALL},
        "metrics": {"neutral": _ALL, "root": _ALL},
        "headlines": _ALL,
        "design": _ALL,
    },
    "page": dict.fromkeys(_PAGE),
}

#: Every step may name its benchmark in messages. In outputs only the page, which sees the name, may have it.
_IN_MESSAGES = "title"

#: Mapping -> the wildcard that names the only one of its keys that a step sees.
_CHOSEN = {"tasks": "task", "tables": "table", "figures": "figure"}


class View:
    """An object that shows only some of its fields. Any other raises an AttributeError that names field and step.

    Methods and properties see the same fields. ``chosen`` maps a wildcard (task, table, figure) to the value for which
    the step runs; other tasks, tables and figures are left out.
    """

    def __init__(self, value: Any, tree: Tree, step: str, chosen: Mapping[str, str] | None = None):
        self.__dict__.update(_value=value, _tree=tree, _step=step, _chosen=chosen or {})

    def __getattr__(self, name: str) -> Any:
        tree, value = self._tree, self._value
        if name in tree:
            return self._seen(name)
        if name == _IN_MESSAGES:
            return getattr(value, name)
        if not name.startswith("_") and name not in _field_names(value):
            own = getattr(type(value), name, None)
            if own is not None and hasattr(own, "__get__"):  # a property, or a method
                return own.__get__(self, type(self))
        what, seen = type(value).__name__, ", ".join(tree) or "nothing"
        raise AttributeError(
            f"{what}.{name}: the step {self._step} does not see it; it sees {seen}. What a step sees is in its "
            "identity: add the field in biasatlas/benchmarks/visible.py.",
            name=name,
            obj=self,
        )

    def _seen(self, name: str) -> Any:
        value, tree = getattr(self._value, name), self._tree[name]
        only = self._chosen.get(_CHOSEN.get(name, ""))
        if isinstance(value, Mapping) and only:
            value = {only: value[only]}
        if tree is None:
            return value
        if isinstance(value, Mapping):
            return {key: View(each, tree, self._step) for key, each in value.items()}
        return View(value, tree, self._step)

    def plain(self) -> dict[str, Any]:
        """All that is seen, as values for JSON; mappings keep the order of the declaration."""
        return {name: plain(self._seen(name)) for name in sorted(self._tree)}


def _field_names(value: Any) -> set[str]:
    return {each.name for each in fields(value)} if is_dataclass(value) else set(type(value).model_fields)


def plain(value: Any) -> Any:
    """``value`` for JSON: fields by name, mappings in their order, classes by their dotted name."""
    if isinstance(value, View):
        return value.plain()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return [[plain(key), plain(each)] for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(each) for each in value)
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else value
