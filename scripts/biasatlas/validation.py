"""What a person reads when a file of theirs is not what was expected: one line a fault, with the nearest valid name."""

import difflib
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from biasatlas.errors import UserError

M = TypeVar("M", bound=BaseModel)

#: Pydantic's bounds -> ours.
_BOUNDS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def read_yaml(path: str | Path) -> Any:
    """What a YAML file holds. Raises UserError where it is not YAML, with the line, or not UTF-8."""
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}). Save it as UTF-8.") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}.") from None


def validated(model: type[M], raw: Any, where: str) -> M:
    """``raw`` as a ``model``. Raises UserError with every fault of the file ``where``, one a line."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise UserError(explain(error, model, where)) from None


def explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """Pydantic's faults as one line each: file, key, value, what was expected and the closest valid spelling."""
    return "\n".join(f"{where}: {_fault(fault, model)}" for fault in error.errors())


def unknown(key: str, value: object, what: str, known: Iterable[str]) -> str:
    """The sentence on a name that nothing bears."""
    return f"{key}: {value!r} is not {what}{nearest(value, known)}"


def nearest(value: object, known: Iterable[str]) -> str:
    """The end of a sentence on an unknown ``value``: the name it is closest to, or all names that would do."""
    known = list(known)
    lower = {str(name).lower(): name for name in known}
    close = difflib.get_close_matches(str(value).lower(), lower, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {lower[close[0]]!r}?"
    return f"; expected one of: {', '.join(map(str, known)) or 'none'}"


def _fault(fault: Any, model: type[BaseModel]) -> str:
    parts, section = _walk(model, fault["loc"])
    key, value, kind = ".".join(map(str, parts)), fault["input"], fault["type"]
    match kind:
        case "extra_forbidden":
            return f"{key}: unknown key{nearest(fault['loc'][-1], section)}"
        case "missing":
            return f"{key}: required key is missing"
        case "literal_error":
            values = [name.strip("' ") for name in fault["ctx"]["expected"].replace(" or ", ", ").split(",")]
            return f"{key}: {value!r} is not allowed{nearest(value, values)}"
        case "union_tag_invalid":
            values = [name.strip("' ") for name in fault["ctx"]["expected_tags"].split(",")]
            return f"{key}.kind: {fault['ctx']['tag']!r} is not a kind of model{nearest(fault['ctx']['tag'], values)}"
        case "union_tag_not_found":
            return f"{key}.kind: required key is missing"
        case "string_pattern_mismatch" if (
            "_" in fault["ctx"]["pattern"] and parts[:1] == ["models"] and len(parts) == 2
        ):
            return f"{key}: use letters, digits, '.', '_' and '-' in a name, a letter or digit first"
        case "value_error":
            return f"{key}: {fault['ctx']['error']}"
        case _ if kind in _BOUNDS:
            words, bound = _BOUNDS[kind]
            return f"{key}: must be {words} {fault['ctx'][bound]:g}, got {value!r}"
        case "too_short":
            return f"{key}: must not be empty"
        case _:
            message = fault["msg"].replace("Input should be a", "expected a")
            message = message.replace("valid dictionary", "mapping of keys").partition(" or instance of")[0]
            return f"{key or 'the file'}: {message}, got {value!r}"


def _walk(model: type[BaseModel], path: tuple) -> tuple[list[Any], list[str]]:
    """The keys of the file along pydantic's ``path``, and the valid keys of the section that its last one stands in.

    Pydantic puts the tag of a union, and a mark on a mapping's key, into the path; neither is a key of the file.
    """
    here: Any = model
    keys: list[Any] = []
    section: list[str] = []
    for part in path:
        if part == "[key]":
            continue
        options = [option for option in _options(here) if isinstance(option, type) and issubclass(option, BaseModel)]
        tagged = [option for option in options if _tag(option) == part]
        if len(options) > 1 and tagged:
            here = tagged[0]
            continue
        keys.append(part)
        if options:
            section = list(options[0].model_fields)
            here = options[0].model_fields[part].annotation if part in options[0].model_fields else None
        else:
            here = next((get_args(option)[-1] for option in _options(here) if get_args(option)), None)
    return keys, section


def _options(annotation: Any) -> list[Any]:
    """The types that an annotation allows."""
    if get_origin(annotation) is Annotated:
        return _options(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [option for part in get_args(annotation) for option in _options(part)]
    return [annotation]


def _tag(model: type[BaseModel]) -> str | None:
    """The kind of model that an entry's class stands for."""
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation)[0] if kind is not None and get_args(kind.annotation) else None
