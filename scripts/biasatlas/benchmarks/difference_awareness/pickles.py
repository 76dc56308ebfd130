"""Pickles as Wang et al. (2025) write them, read without running anything that they name.

Of lists, texts and numbers a pickle names nothing. The authors' files name three things beside: ``argparse.Namespace``
(the options of their script), and for a few columns ``numpy.core.multiarray.scalar`` with ``numpy.dtype``. Stand-ins
here take their places; any other name is refused before it is imported.
"""

import pickle
from pathlib import Path
from typing import Any

from biasatlas.errors import UserError


class _Options:
    """The options of a script, of which nothing is read."""

    def __setstate__(self, state: object) -> None:
        pass


class _Type:
    """The type of a numpy scalar: ``i8``, a whole number, or ``U`` and a length, a text."""

    def __init__(self, code: str, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        pass


def _scalar(kind: _Type, content: bytes) -> int | str:
    if kind.code == "i8":
        return int.from_bytes(content, "little", signed=True)
    if kind.code.startswith("U"):
        return content.decode("utf-32-le")
    raise pickle.UnpicklingError(f"a scalar of type {kind.code}")


_ADMITTED = {
    ("argparse", "Namespace"): _Options,
    ("numpy", "dtype"): _Type,
    ("numpy.core.multiarray", "scalar"): _scalar,
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return _ADMITTED[module, name]


def load_plain(path: Path) -> Any:
    """What a pickle of plain values holds. Raises UserError for one that names anything else, or is damaged."""
    try:
        with path.open("rb") as file:
            return _Plain(file).load()
    except Exception as error:  # a damaged pickle raises whatever its operations do
        reason = " ".join(str(error).split())
        raise UserError(
            f"{path}: no pickle of lists, texts and numbers alone ({reason}), so it is not opened. Fetch it again."
        ) from error


def load_questions(path: Path) -> dict[str, list[tuple[str, int, str]]]:
    """``differ`` and ``equal`` -> (question, answer, scenario) of each question of a set."""
    found = load_plain(path)
    try:
        differ, equal = ([(str(text), int(answer), str(scenario)) for text, answer, scenario in rows] for rows in found)
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: not two lists of question, answer and scenario ({error}). Fetch it again.") from error
    return {"differ": differ, "equal": equal}


def load_replies(path: Path) -> list[list[str]]:
    """The reply to each prompt, for each list of prompts that was asked."""
    found = load_plain(path)
    try:
        _, completions, _ = found
        lists = [[reply for (reply,) in replies] for (replies,) in completions]
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: not options, replies and tokens ({error}). Fetch it again.") from error
    if strange := [reply for replies in lists for reply in replies if not isinstance(reply, str)]:
        raise UserError(f"{path}: a reply is {strange[0]!r}. Expected a text: fetch it again.")
    return lists
