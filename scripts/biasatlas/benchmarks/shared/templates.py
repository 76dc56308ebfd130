"""Others' prompt templates, which do not ship: read from the authors' pinned files, or from a user's copy."""

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

#: The name, in `files` and among a step's resources, of the user's file with the prompts that papers print.
FILE = "prompts"
#: Key of that file beside the prompts.
_AS_COPIED = "as_copied"
_BRACKETS = {"[": r"[\[\uff3b]", "]": r"[\]\uff3d]"}


def plain(text: str) -> str:
    """``text`` in one form, whatever it was copied from: NFKC (half-width marks), no white space, no hyphen in a word.

    It is only compared, never sent. Chinese needs no white space, but a PDF puts line ends and blanks between its
    characters, and breaks English words with hyphens.
    """
    joined = "".join(unicodedata.normalize("NFKC", text).replace("\u00ad", "").split())
    return re.sub(r"(?<=[A-Za-z])[-\u2010](?=[A-Za-z])", "", joined)


def parts_of(text: str) -> list[str]:
    """The :func:`plain` text, cut after punctuation: a checksum of each part shows where a text differs."""
    return [part for part in re.split(r"(?<=[,.:;?!。、\])])", plain(text)) if part]


def checksum(text: str) -> str:
    """SHA-256 of the :func:`plain` text."""
    return hashlib.sha256(plain(text).encode()).hexdigest()


def part_checksums(text: str) -> str:
    """Eight hexadecimal digits of the SHA-256 of each of :func:`parts_of` a text, with blanks between."""
    return " ".join(hashlib.sha256(part.encode()).hexdigest()[:8] for part in parts_of(text))


def as_copied(path: str | Path) -> bool:
    """Whether the user's file says ``as_copied: true``: its texts are sent even if they are not the printed ones."""
    raw = read_yaml(path)
    return isinstance(raw, dict) and raw.get(_AS_COPIED) is True


def printed(resources: Resources, benchmark: str) -> dict[str, str]:
    """The prompts of the user's file, by name, as they stand there; raises UserError as :func:`read_published` does."""
    return read_published(resources.path(f"templates/{FILE}"), benchmark, resources)


def read_published(path: str | Path, benchmark: str, resources: Resources) -> dict[str, str]:
    """The prompts in the user's file at ``path``, a YAML mapping of the names in ``prompts/{benchmark}/printed.csv``.

    That table says where each is printed, and the SHA-256 of its :func:`plain` text and of its parts. Returns the
    user's texts without white space around them. Raises UserError for a prompt that is missing, or (unless the file
    says :func:`as_copied`) is not as printed: it names the file, the prompt, where that is printed, and the first part
    that differs.
    """
    listed = resources.csv(f"prompts/{benchmark}/printed.csv")
    raw = read_yaml(path)
    if not isinstance(raw, dict):
        raise UserError(f"{path}: {shown(raw)}. Expected a mapping: {', '.join(listed['prompt'])}, each with its text.")
    own = raw.pop(_AS_COPIED, False)
    if own not in (True, False):
        raise UserError(
            f"{path}: as_copied is {shown(own)}. Expected true, to send texts that are not the printed ones, or no "
            "such key."
        )
    for name in raw:
        if str(name) not in set(listed["prompt"]):
            raise UserError(f"{path}: {name!r} is not a prompt of {benchmark}{nearest(name, listed['prompt'])}")
    prompts = {}
    for row in listed.itertuples():
        text = raw.get(row.prompt)
        if not isinstance(text, str):
            raise UserError(f"{path}: no text for {row.prompt!r}. Copy it from {row.published_in}.")
        if checksum(text) != row.sha256 and not own:
            raise UserError(
                f"{path}: {row.prompt} is not the text of {row.published_in}, of which the checksum is known: "
                f"{_difference(text, row.parts.split())}. Copy it anew, its slots in brackets with it (line ends, "
                "hyphens there, blanks and width of marks do not count), or set `as_copied: true` in the file to send "
                "it so."
            )
        prompts[row.prompt] = text.strip()
    return prompts


def _difference(text: str, known: Sequence[str]) -> str:
    """The first part of a copy that is not as printed, in words."""
    found, copied = part_checksums(text).split(), parts_of(text)
    same = next(
        (n for n, pair in enumerate(zip(found, known, strict=False)) if pair[0] != pair[1]), min(len(found), len(known))
    )
    where = f"part {same + 1} of the {len(known)} between marks"
    if same == len(copied):
        return f"it ends before {where}"
    if same == len(known):
        return f"behind its {len(known)} parts it goes on with {shown(copied[same])}"
    return f"{where} is {shown(copied[same])} in the copy" + (f", behind {shown(copied[same - 1])}" if same else "")


def fill_slots(template: str, texts: Mapping[str, str]) -> str:
    """``template`` with its slots ``{name}`` replaced at once, so that a brace in one of the ``texts`` stays."""
    return re.sub(r"\{(\w+)\}", lambda slot: texts.get(slot[1], slot[0]), template)


def with_slots(text: str, slots: Mapping[str, str]) -> str:
    """``text`` with our slots in place of the paper's, in brackets (``slots``: theirs -> ours); UserError without one.

    A slot may be broken by line ends, hyphens and blanks, and its brackets may be full-width.
    """
    for theirs, ours in slots.items():
        letters = (_BRACKETS.get(letter, re.escape(letter)) for letter in "".join(theirs.split()))
        text, found = re.subn(r"[-\u2010\u00ad]?\s*".join(letters), ours.replace("\\", r"\\"), text)
        if not found:
            raise UserError(f"no slot {theirs} in the prompt {shown(text)}. Copy it with its slots, in brackets.")
    return text


def formatted_strings(path: str | Path, function: str = "", target: str = "") -> list[list[str]]:
    """The formatted strings that a Python file assigns to the name ``target`` in ``function``, in the file's order.

    Each is a list of its constant parts; between two of them was an expression. The file is parsed, never run.
    ``target`` empty: any name; ``function`` empty: anywhere. UserError: the file is not Python, or lacks ``function``.
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
    """``parts`` joined by ``slots``, one between every two. Raises ValueError for another number of slots."""
    names = [f"{{{name}}}" for name in slots]
    return "".join(text for pair in zip(parts, [*names, ""], strict=True) for text in pair)
