"""The pickles of Wang et al. (2025): their questions as items, and replies as choice responses.

They are read without running anything that they name. A pickle of lists, texts and numbers names nothing. The authors'
files name three more things: ``argparse.Namespace`` (the options of their script), and for a few columns
``numpy.core.multiarray.scalar`` with ``numpy.dtype``. Stand-ins here take their places; any other name is refused
before it is imported.
"""

import pickle
from pathlib import Path
from typing import Any

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.contexts import items
from biasatlas.benchmarks.families.contexts.items import PARSERS as OWN
from biasatlas.benchmarks.families.rows import WHERE
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.benchmarks.shared.predictions import responses
from biasatlas.errors import UserError

#: Set -> the number of its questions in `differ` in the authors' script; those in `equal` have the next number.
_SETS = {"D1": 1000, "D2": 1002, "D3": 1004, "D4": 1006, "N2": 1010, "N3": 1012, "N4": 1014}


class _Options:
    """The options of a script, which are not read."""

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


def import_responses(step: Step) -> pd.DataFrame:
    """A response for each question, from the replies of one model to every set."""
    replies = {}
    for name, number in _SETS.items():
        differ, equal = replies_of(step, number, number + 1)
        for condition, said in (("differ", differ), ("equal", equal)):
            replies |= {f"{name}/{condition}/{place}": [reply.strip()] for place, reply in enumerate(said)}
    return responses(step.requests, replies, PARSERS | OWN)


def replies_of(step: Step, first: int, last: int) -> list[list[str]]:
    """The replies of the release to the authors' lists of prompts from ``first`` to ``last``, a list each."""
    model = {"gpt-4o": "gpt-4o-"}.get(step.release, step.release)
    name = f"outputs/in{first}-{last}_sys0-0_m{model}/output.pkl"
    if name not in step.files:
        raise UserError(f"{step.description.title}, {step.release}: no {name}. Fetch the source again.")
    found = load_replies(step.files[name])
    if len(found) != last - first + 1:
        raise UserError(
            f"{step.files[name]}: {len(found)} lists of replies, expected {last - first + 1}. Fetch it again."
        )
    return found


def read_items(step: Step) -> pd.DataFrame:
    """The questions of the authors' pickles, ``{set}_1k.pkl``; or those of a folder of JSON lines."""
    names = sorted(name for name in step.files if name.endswith("_1k.pkl"))
    if not names:
        return items.read_items(step)
    rows = [
        (
            f"{step.files[name]}, {condition} {place}",
            Path(name).name[:2],
            condition,
            str(place),
            text,
            str(answer),
            scenario,
        )
        for name in names
        for condition, questions in load_questions(step.files[name]).items()
        for place, (text, answer, scenario) in enumerate(questions)
    ]
    columns = [WHERE, "set", "condition", "place", "question", "answer", "scenario"]
    return items.questions(step.description, pd.DataFrame(rows, columns=columns))
