"""What is pinned in this folder: questions of every kind to tiny fixed models, replies of endpoints, texts to read.

Each set names the constants one of which has to be raised when its answers change.
"""

import importlib
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pandas as pd
from golden import replies, texts, tiny_models

from biasatlas.benchmarks.mcbe.readers import READERS as MCBE_READERS
from biasatlas.benchmarks.shared.readers import READERS
from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.models.entry import Template

FOLDER = Path(__file__).parent

#: The last digits that a GPU computes are its own.
ON_CPU = patch("torch.cuda.is_available", return_value=False)


@dataclass(frozen=True)
class Golden:
    """A file with pinned answers, the modules whose VERSION stands for them, and how they are computed now."""

    name: str
    modules: tuple[str, ...]
    compute: Callable[[], dict]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def versions(self) -> dict[str, int]:
        return {module: importlib.import_module(module).VERSION for module in self.modules}

    def pinned(self) -> dict:
        return json.loads(self.path.read_text(encoding="utf-8"))

    def fault(self, versions: dict[str, int], answers: dict) -> str:
        """What is wrong with ``answers`` that differ from those pinned, or were made under other ``versions``."""
        constants, pinned = f"VERSION in {' or '.join(self.modules)}", self.pinned()
        if versions != pinned["versions"]:
            return f"{constants} was raised and nothing pinned: run `python tests/golden/pin.py`"
        if not same(answers, pinned["answers"]):
            return f"answers changed: raise {constants} and run `python tests/golden/pin.py`"
        return ""


def same(pinned: object, computed: object) -> bool:
    """Whether two answers are the same: numbers but for rounding, everything else exactly."""
    if isinstance(pinned, float) and isinstance(computed, float):
        return math.isclose(pinned, computed, rel_tol=0, abs_tol=1e-5)
    if isinstance(pinned, dict) and isinstance(computed, dict):
        return pinned.keys() == computed.keys() and all(same(pinned[name], computed[name]) for name in pinned)
    if isinstance(pinned, list) and isinstance(computed, list):
        return len(pinned) == len(computed) and all(map(same, pinned, computed))
    return pinned == computed


USER = json.dumps([{"role": "user", "content": "Who said that?"}])
TALK = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}])
OPEN = json.dumps([{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "It was"}])
TEMPLATES = {"ours": Template(prompt="USER: {user} ASSISTANT:", empty="ASSISTANT:")}

LIKELIHOODS = [
    {"continuation": "He said that."},
    {"prefix": "He said", "continuation": " that."},
    {"prefix": "He said", "continuation": " that.", "boundary": "prefix_length"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "offsets"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "prefix_length"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "separate"},
    {"prefix": "He said tha", "continuation": "t.", "boundary": "separate", "special_tokens": "tokenizer"},
    {"continuation": "He said that.", "special_tokens": "none"},
    {"continuation": "女人", "special_tokens": "tokenizer"},
    {"messages": USER, "template": "tokenizer", "continuation": "He"},
    {"messages": USER, "template": "tokenizer", "prefix": "It was", "continuation": " the man"},
    {"messages": TALK, "template": "tokenizer", "continuation": "He", "special_tokens": "none"},
    {"messages": OPEN, "template": "tokenizer", "continuation": " the man"},
    {"messages": USER, "template": "ours", "continuation": " He"},
    {"prefix": "He said", "continuation": ""},
]
LABELS = {
    "letter": ["1", "B"],
    "label": ["n", "nn", "1"],
    "integer": [str(value) for value in range(11)],
    "decimal": [f"{value / 2:.1f}" for value in range(21)],
}
CHOICES = [
    {"messages": USER, "template": "tokenizer", "reader": reader, "labels": json.dumps(labels), **settings}
    for reader, labels in LABELS.items()
    for settings in ({"top_k": 6, "max_tokens": 3}, {"temperature": 0.5, "top_p": 0.6, "max_tokens": 2})
]
GENERATIONS = [
    {"messages": USER, "template": "tokenizer", "temperature": 0.0, "max_tokens": 12},
    {"prefix": "He said", "temperature": 1.0, "max_tokens": 12, "repeats": 2},
    {"prefix": "He said", "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.2, "max_tokens": 12},
    {"prefix": "He", "temperature": 1.0, "frequency_penalty": 2.0, "max_tokens": 12},
]
PAIR = ["The old man could not work.", "The young lady could not work."]
TEXTS = [{"continuation": text, "pair": json.dumps(PAIR)} for text in PAIR]
TEXTS += [{"continuation": PAIR[0]}, {"continuation": "Work!"}]


def requests(kind: str, rows: list[dict]) -> pd.DataFrame:
    rows = [{"request_id": f"r{i}", "item_id": f"i{i}", "kind": kind, "pair": None} | row for i, row in enumerate(rows)]
    return pd.DataFrame(rows).reindex(columns=[*REQUEST_COLUMNS, "pair"])


def answers(model, kind: str, rows: list[dict]) -> list[dict]:
    responses, _ = model.answer(requests(kind, rows), "task")
    rows = json.loads(responses.to_json(orient="records", double_precision=15))
    return [
        row | ({"probabilities": json.loads(row["probabilities"])} if row.get("probabilities") else {}) for row in rows
    ]


def causal() -> dict:
    from biasatlas.models.local.answer import CausalModel
    from biasatlas.models.local.load import load

    with tempfile.TemporaryDirectory() as folder, ON_CPU:
        tiny_models.save_causal(Path(folder))
        model = CausalModel("tiny", load(folder), templates=TEMPLATES, readers=READERS)
    return {
        "likelihood": answers(model, "likelihood", LIKELIHOODS),
        "choice": answers(model, "choice", CHOICES),
        "generation": answers(model, "generation", GENERATIONS),
    }


def masked() -> dict:
    from biasatlas.models.masked.answer import load

    with tempfile.TemporaryDirectory() as folder, ON_CPU:
        tiny_models.save_masked(Path(folder))
        return {"likelihood": answers(load(folder), "likelihood", TEXTS)}


def shared_readings() -> dict:
    return texts.readings(READERS, texts.SHARED)


def mcbe_readings() -> dict:
    return texts.readings(MCBE_READERS, texts.MCBE)


GOLDEN = [
    Golden("local", ("biasatlas.models.local", "biasatlas.benchmarks.shared.readers"), causal),
    Golden("masked", ("biasatlas.models.masked",), masked),
    Golden("endpoint", ("biasatlas.models.endpoint",), replies.records),
    Golden("readers", ("biasatlas.benchmarks.shared.readers",), shared_readings),
    Golden("mcbe_readers", ("biasatlas.benchmarks.mcbe.readers", "biasatlas.benchmarks.shared.readers"), mcbe_readings),
]
