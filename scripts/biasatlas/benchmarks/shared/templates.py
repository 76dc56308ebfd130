"""The prompt templates of others, which do not ship: read from the authors' pinned files, or from what a user copied."""

import ast
import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.userfiles import read_text, shown
from biasatlas.validation import nearest, read_yaml

#: The user's file with what the papers print, by its name in `files` and among the resources of a step.
FILE = "prompts"


def plain(text: str) -> str:
    """``text`` in one form, whatever page it was copied from: NFKC (half-width marks), and no white space at all.

    For Chinese, which needs none: a PDF puts line ends and blanks between its characters.
    """
    return "".join(unicodedata.normalize("NFKC", text).split())


def checksum(text: str) -> str:
    """SHA-256 of the :func:`plain` text."""
    return hashlib.sha256(plain(text).encode()).hexdigest()


def printed(resources: Resources, benchmark: str) -> dict[str, str]:
    """The prompts of the user's file, by name, as :func:`plain` text; raises UserError as :func:`read_published` does."""
    return read_published(resources.path(f"templates/{FILE}"), benchmark, resources)


def read_published(path: str | Path, benchmark: str, resources: Resources) -> dict[str, str]:
    """The prompts in the user's file at ``path``, a YAML mapping of the names in ``prompts/{benchmark}/printed.csv``.

    That table says where each is printed and what SHA-256 its :func:`plain` text has. Raises UserError naming the file,
    the prompt and the printed table for one that is missing, or is not what is printed there.
    """
    listed = resources.csv(f"prompts/{benchmark}/printed.csv")
    raw = read_yaml(path)
    if not isinstance(raw, dict):
        raise UserError(f"{path}: {shown(raw)}. Expected a mapping: {', '.join(listed['prompt'])}, each with its text.")
    for name in raw:
        if str(name) not in set(listed["prompt"]):
            raise UserError(f"{path}: {name!r} is no prompt of {benchmark}{nearest(name, listed['prompt'])}")
    prompts = {}
    for row in listed.itertuples():
        text = raw.get(row.prompt)
        if not isinstance(text, str):
            raise UserError(f"{path}: no text for {row.prompt!r}. Copy it from {row.published_in}.")
        if checksum(text) != row.sha256:
            raise UserError(
                f"{path}: {row.prompt} is not the text of {row.published_in}, of which the checksum is known "
                f"({shown(text)}). Copy it anew, its slots in brackets with it; width of marks, line ends and blanks do not count."
            )
        prompts[row.prompt] = plain(text)
    return prompts


def fill_slots(template: str, texts: Mapping[str, str]) -> str:
    """``template`` with its slots ``{name}`` replaced at once, so that a brace in one of the ``texts`` stays."""
    return re.sub(r"\{(\w+)\}", lambda slot: texts.get(slot[1], slot[0]), template)


def with_slots(text: str, slots: Mapping[str, str]) -> str:
    """``text`` with ours in place of the paper's ``slots``, in brackets; one that it lacks is a ValueError."""
    for theirs, ours in slots.items():
        if theirs not in text:
            raise ValueError(f"no {theirs} in {text!r}")
        text = text.replace(theirs, ours)
    return text


def formatted_strings(path: str | Path, function: str = "", target: str = "") -> list[list[str]]:
    """The formatted strings that a Python file assigns to the name ``target`` in ``function``, in the file's order.

    Each is a list of its constant parts: between two of them stood an expression. The file is parsed, never run.
    ``target`` empty: to any name; ``function`` empty: anywhere. Raises UserError for a file that is no Python.
    """
    try:
        scope: ast.AST = ast.parse(read_text(path))
    except SyntaxError as error:
        raise UserError(f"{path}: cannot be read as Python ({error}). Fetch it again.") from None
    if function:
        found = [node for node in ast.walk(scope) if isinstance(node, ast.FunctionDef) and node.name == function]
        if not found:
            raise UserError(f"{path}: no function {function}. The file is of another version: fetch it again.")
        scope = found[0]
    strings = [
        (node.lineno, _parts(node.value))
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.JoinedStr)
        and (not target or any(isinstance(name, ast.Name) and name.id == target for name in node.targets))
    ]
    return [parts for _, parts in sorted(strings)]


def _parts(string: ast.JoinedStr) -> list[str]:
    parts = [""]
    for value in string.values:
        if isinstance(value, ast.Constant):
            parts[-1] += str(value.value)
        else:
            parts.append("")
    return parts


def template(parts: Sequence[str], slots: Sequence[str]) -> str:
    """``parts`` joined by ``slots``, one between every two; another number of them is a ValueError."""
    names = [f"{{{name}}}" for name in slots]
    return "".join(text for pair in zip(parts, [*names, ""], strict=True) for text in pair)
