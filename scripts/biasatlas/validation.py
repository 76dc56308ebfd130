"""What a person reads if a file of theirs is not as expected: a line for each fault, with the nearest valid name."""

import difflib
import os
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from biasatlas.errors import UserError
from biasatlas.userfiles import read_json, read_text, shown

M = TypeVar("M", bound=BaseModel)

#: Pydantic's bounds -> ours.
_BOUNDS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}

_WHOLE, _NUMBER, _SWITCH, _MAPPING = "a whole number", "a number", "true or false", "a mapping of keys"

#: Pydantic's fault with a value's type -> what was expected.
_TYPES = {
    "string_type": "text",
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), _WHOLE),
    **dict.fromkeys(("float_type", "float_parsing"), _NUMBER),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), _SWITCH),
    "list_type": "a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _MAPPING),
}

#: Faults in the form of a value that may have several forms.
_FORMS = ("string_type", "list_type", "dict_type")

_NAME_RULE = "use letters, digits, '.', '_' and '-' in a name, a letter or digit first, and 100 characters at most"
_KEY_RULE = "YAML does not read this key as text; put it in quotes"

#: What may be a key or a password: a key's usual beginning, a long run of letters and digits, what stands before a
#: URL's host, and its query.
_SECRET = re.compile(
    r"\b(?:sk|hf|gsk|xai|ghp|nvapi)[-_][\w-]{12,}|\bAIza[\w-]{20,}|\b(?=\w*\d)[A-Za-z0-9]{32,}\b"
    r"|(?<=://)[^/@\s]+(?=@)|(?<=\?)[^'\"]+"
)


#: The most values that a file may hold, with aliases written out.
_MOST_NODES = 1_000_000


def masked(text: str) -> str:
    """``text`` with dots in place of what may be a key or a password."""
    return _SECRET.sub("...", text)


class _Loader(yaml.SafeLoader):
    """Refuses what YAML would silently lose: a key that stands twice, or is not text (`yes:` is true)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            fault = ""
            if not isinstance(key, yaml.ScalarNode):
                fault = "a key is a list or a mapping. Give it a name"
            elif key.tag == "tag:yaml.org,2002:merge":
                continue
            elif key.tag != "tag:yaml.org,2002:str":
                fault = f"YAML does not read the key {key.value} as text. Put it in quotes"
            elif key.value in lines:
                fault = f"the key {key.value!r} stands in line {lines[key.value]}, too. Keep one of them"
            if fault:
                raise yaml.constructor.ConstructorError(problem=fault, problem_mark=key.start_mark)
            lines[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


def read_yaml(path: str | os.PathLike) -> Any:
    """What a YAML file holds, or a JSON file by its suffix.

    Raises UserError where it is no such file, with the line; where a key stands twice or is no text; and where
    :func:`biasatlas.userfiles.read_text` does.
    """
    if Path(path).suffix == ".json":
        return read_json(path)
    text = read_text(path)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is not None and _size(node, {}) > _MOST_NODES:
            raise UserError(f"{path}: its aliases stand for more than {_MOST_NODES:,} values. Write it without them.")
        return None if node is None else loader.construct_document(node)
    except UserError:
        raise
    except yaml.constructor.ConstructorError as error:
        raise UserError(f"{path}, line {_line(error)}: {error.problem}.") from None
    except yaml.MarkedYAMLError as error:
        tab = "'\\t'" in str(error.problem)
        remedy = (
            "Indent with spaces, not with tabs" if tab else "Look for a bracket, quotation mark or indent above, too"
        )
        raise UserError(f"{path}, line {_line(error)}: not YAML: {error.problem}. {remedy}.") from None
    except Exception as error:  # PyYAML passes on whatever a value makes Python raise
        fault = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise UserError(f"{path}: not YAML: {fault.partition(';')[0]}. Correct it.") from None


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for, each of its aliases written out."""
    if id(node) not in known:
        known[id(node)] = 1  # for a node that holds itself
        parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
        known[id(node)] = 1 + (sum(_size(part, known) for part in parts) if isinstance(parts, list) else 0)
    return known[id(node)]


def _line(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark else 1


def validated(model: type[M], raw: Any, where: str) -> M:
    """``raw`` as a ``model``.

    Raises UserError with every fault of the file ``where``, one a line: file, key, value, what was expected, and the
    closest valid spelling.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        faults = _of_own_form(error.errors(), model)
        raise UserError("\n".join(f"{where}: {_fault(fault, model)}" for fault in faults)) from None
    except UnicodeEncodeError as error:
        raise UserError(
            f"{where}: {masked(shown(error.object))} has half of a character, which no text has. Write the character "
            "itself."
        ) from None


def unknown(key: str, value: object, what: str, known: Iterable[str]) -> str:
    """The sentence on an unknown name."""
    return f"{key}: {masked(shown(value))} is not {what}{nearest(value, known)}"


def nearest(value: object, known: Iterable[str]) -> str:
    """The end of a sentence on an unknown ``value``: the name it is closest to, or all names that would do."""
    known = list(known)
    lower = {str(name).lower(): name for name in known}
    written = str(value).lower()
    # "zh" means "zh-Hans", not "hi"; "en-US" means "en", not "eu".
    close = [name for name in lower if name.startswith(f"{written}-") or written.startswith(f"{name}-")]
    close = close or difflib.get_close_matches(written, lower, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {lower[close[0]]!r}?"
    return f"; expected one of: {', '.join(map(str, known)) or 'none'}"


def _of_own_form(faults: Sequence[Any], model: type[BaseModel]) -> Iterator[Any]:
    """The ``faults`` to report: for a value that may be text, a list or a mapping, those of the form that it has.

    A value that has none of these forms is reported once, with all that it may have (``forms``).
    """
    for fault in faults:
        place = fault["loc"][:-1]
        if fault["type"] not in _FORMS or _walk(model, fault["loc"])[0] != _walk(model, place)[0]:
            yield fault
            continue
        beside = [other for other in faults if other["loc"][: len(place)] == place]
        if fault is beside[0] and all(
            len(each["loc"]) == len(fault["loc"]) and each["type"] in _FORMS for each in beside
        ):
            yield {**fault, "forms": " or ".join(_TYPES[each["type"]] for each in beside)}


def _fault(fault: Any, model: type[BaseModel]) -> str:
    keys, section, field = _walk(model, fault["loc"])
    key, kind, context = ".".join(map(str, keys)) or "the file", fault["type"], fault.get("ctx", {})
    value = _value(fault["input"], field)
    if kind == "invalid_key" or (fault["loc"][-1:] == ("[key]",) and kind != "literal_error"):
        return f"{key}: {_NAME_RULE if kind == 'string_pattern_mismatch' else _KEY_RULE}"
    match kind:
        case "extra_forbidden":
            return f"{key}: unknown key{nearest(fault['loc'][-1], section)}"
        case "missing":
            return f"{key}: required key is missing"
        case "union_tag_not_found":
            return f"{key}.kind: required key is missing"
        case "union_tag_invalid":
            kinds = _alternatives(context["expected_tags"])
            return f"{key}.kind: {context['tag']!r} is not a kind of model{nearest(context['tag'], kinds)}"
        case "literal_error":
            return f"{key}: {value} is not allowed{nearest(fault['input'], _alternatives(context['expected']))}"
        case "value_error":
            return f"{key}: {context['error']}".removeprefix("the file: ")  # about several keys, which it names
        case "too_short" | "string_too_short" | "too_long":
            return f"{key}: {_length(kind, context, value)}"
        case "string_pattern_mismatch" if field and field.description:
            return f"{key}: got {value}; expected: {field.description}"
        case _ if kind in _BOUNDS:
            words, bound = _BOUNDS[kind]
            return f"{key}: must be {words} {context[bound]:,.15g}, got {value}"
        case _ if kind in _TYPES:
            return f"{key}: expected {fault.get('forms', _TYPES[kind])}, got {value}{_remedy(kind, fault['input'])}"
        case _:
            return f"{key}: {fault['msg']}, got {value}"


def _length(kind: str, context: dict[str, Any], value: str) -> str:
    if kind == "too_long":
        return f"must have at most {context['max_length']} values, got {value}"
    return (
        "must not be empty" if context["min_length"] == 1 else f"must have {context['min_length']} values, got {value}"
    )


def _value(value: object, field: FieldInfo | None) -> str:
    """``value`` as messages quote it; the value of a field with ``repr=False`` is not shown."""
    if field and not field.repr:
        return "a value that is not shown"
    return "nothing" if value is None else masked(shown(value))


def _alternatives(words: str) -> list[str]:
    """The values in pydantic's "'a', 'b' or 'c'"."""
    return re.findall("'([^']*)'", words)


def _remedy(kind: str, value: object) -> str:
    """How to write a value that YAML read as another type than the expected one; ``kind`` is that of the fault."""
    if value is None:
        return "; fill it in, or write {}" if _TYPES[kind] == _MAPPING else "; fill it in, or remove the key"
    if kind == "string_type" and not isinstance(value, list | dict):
        return ", as YAML reads it; put it in quotes"
    if kind == "string_type" and isinstance(value, dict) and set(value.values()) == {None}:
        return f", as YAML reads it; put it in quotes: '{{{', '.join(map(str, value))}}}'"
    if kind == "list_type" and isinstance(value, str):
        return "; put it in brackets: [a, b]"
    if _TYPES[kind] in (_WHOLE, _NUMBER) and isinstance(value, str):
        return "; write the number alone, without quotes, unit or comma, as 1.25 or 1.0e+6"
    return ""


def _walk(model: type[BaseModel], path: tuple) -> tuple[list[Any], list[str], FieldInfo | None]:
    """The keys of the file along pydantic's ``path``; the valid keys of the last one's section, and its field.

    Pydantic puts the tag of a union, and a mark on a mapping's key, into the path; neither is a key of the file.
    """
    here: Any = model
    keys: list[Any] = []
    section: list[str] = []
    field: FieldInfo | None = None
    for part in path:
        if part == "[key]":
            continue
        options = [option for option in _options(here) if isinstance(option, type) and issubclass(option, BaseModel)]
        tagged = [option for option in options if _tag(option) == part]
        if len(options) > 1 and tagged:
            here = tagged[0]
            continue
        plain = {str(getattr(get_origin(option) or option, "__name__", "")): option for option in _options(here)}
        if not options and len(plain.keys() - {"NoneType"}) > 1:
            here = plain.get(str(part).partition("[")[0], str)  # pydantic names checked text after the checks
            continue
        keys.append(part)
        if options:
            section = list(options[0].model_fields)
            field = options[0].model_fields.get(part)
            here = field.annotation if field else None
        else:
            here = next((get_args(option)[-1] for option in _options(here) if get_args(option)), None)
    return keys, section, field


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


def check_files(paths: Iterable[str | os.PathLike]) -> None:
    """Raise UserError for what Snakemake would lose: a key that stands twice, or is not read as text.

    Also, with a readable message, for a file that is no YAML (or JSON) in UTF-8, or no mapping of keys.
    """
    for path in paths:
        content = read_yaml(path)
        if not isinstance(content, dict):
            held = "no key" if content is None else shown(content)
            raise UserError(
                f"{path}: the file holds {held}. Expected a mapping with the keys models and benchmarks "
                "(docs/configuration.md)."
            )


def _as_written(path: str) -> str:
    """``path``, if Snakemake can take it as it stands."""
    if not path or path.isspace():
        raise ValueError("must not be empty")
    if set("{}\n") & set(path):
        raise ValueError(f"{shown(path)} has a brace, which stands for a wildcard, or a line break; name one path")
    if path.startswith("~") or "$" in path:
        meant = "the variable" if "$" in path else "the home folder"
        raise ValueError(f"{shown(path)} is not understood; write {meant} out")
    if "://" in path:
        raise ValueError(f"{masked(shown(path))} is a URL; name a folder (for object storage see docs/cluster.md)")
    parts = Path(path).parts
    odd = not path.isprintable() or path.startswith("-") or path != path.strip()
    if odd or any(len(os.fsencode(part)) > 255 for part in parts):
        raise ValueError(f"{shown(path)} is not a path that all programs take; name another")
    if {".git", ".snakemake"} & set(parts):
        raise ValueError(f"{shown(path)} lies in a folder of Git or Snakemake; name another")
    return path


#: A path of a file or folder, relative to the working directory: as it is written, and (FilePath) without a leading
#: `./`, a `//` or a `/` at the end, about which Snakemake would warn.
WrittenPath = Annotated[str, AfterValidator(_as_written)]
FilePath = Annotated[WrittenPath, AfterValidator(os.path.normpath)]
