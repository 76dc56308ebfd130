"""What is pinned in this folder: answers of tiny fixed models, calls to endpoints and their replies, parsed texts.

Each set names its VERSION constants, one of which has to be raised when its answers change.
"""

import importlib
import json
import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import benches
from golden import calls, questions, replies, texts, tiny_models

from biasatlas.benchmarks.mcbe.parsers import PARSERS as MCBE_PARSERS
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.models.simulated.entry import SimulatedEntry

FOLDER = Path(__file__).parent

#: A GPU computes other last digits.
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
        """What to do if ``answers`` or ``versions`` differ from those pinned; "" if neither does."""
        constants, pinned = f"VERSION in {' or '.join(self.modules)}", self.pinned()
        if versions != pinned["versions"]:
            return f"{constants} was raised and nothing pinned: run `python tests/golden/pin.py`"
        if not same(answers, pinned["answers"]):
            return f"answers changed: raise {constants} and run `python tests/golden/pin.py`"
        return ""


def same(pinned: object, computed: object) -> bool:
    """Whether two answers are the same: numbers up to rounding, everything else exactly."""
    if isinstance(pinned, float) and isinstance(computed, float):
        return math.isclose(pinned, computed, rel_tol=0, abs_tol=1e-5)
    if isinstance(pinned, dict) and isinstance(computed, dict):
        return pinned.keys() == computed.keys() and all(same(pinned[name], computed[name]) for name in pinned)
    if isinstance(pinned, list) and isinstance(computed, list):
        return len(pinned) == len(computed) and all(map(same, pinned, computed))
    return pinned == computed


def answers(model, kind: str, rows: list[dict]) -> list[dict]:
    responses, _ = model.answer(questions.requests(kind, rows), "task")
    rows = json.loads(responses.to_json(orient="records", double_precision=15))
    return [
        row | ({"probabilities": json.loads(row["probabilities"])} if row.get("probabilities") else {}) for row in rows
    ]


def causal() -> dict:
    model = _causal_model()
    return {
        "likelihood": answers(model, "likelihood", questions.LIKELIHOODS),
        "choice": answers(model, "choice", questions.CHOICES),
        "generation": answers(model, "generation", questions.GENERATIONS),
    }


def causal_at_limits() -> dict:
    """Answers that are nearly none, or nearly too long, or that a checkpoint's own settings draw and end."""
    short = _causal_model(tiny_models.SHORT, tiny_models.OWN_GENERATION)
    return {
        "choice": answers(_causal_model(), "choice", questions.OPEN_CHOICES),
        "full likelihood": answers(short, "likelihood", questions.FULL_LIKELIHOODS),
        "full choice": answers(short, "choice", questions.FULL_CHOICES),
        "full generation": answers(short, "generation", questions.FULL_GENERATIONS),
        "left generation": answers(short, "generation", questions.LEFT_GENERATIONS),
    }


def _causal_model(config: Mapping = tiny_models.NOTHING, generation: Mapping = tiny_models.NOTHING):
    from biasatlas.models.local.answer import CausalModel
    from biasatlas.models.local.load import load

    with tempfile.TemporaryDirectory() as folder, ON_CPU:
        tiny_models.save_causal(Path(folder), config, generation)
        return CausalModel("tiny", load(folder), templates=questions.TEMPLATES, sampling=questions.OWN, parsers=PARSERS)


def masked() -> dict:
    from biasatlas.models.masked.answer import load

    with tempfile.TemporaryDirectory() as folder, ON_CPU:
        tiny_models.save_masked(Path(folder))
        return {"likelihood": answers(load(folder), "likelihood", questions.TEXTS)}


def simulated() -> dict:
    """The first answers of a simulated model to every task on the samples."""
    settings = {"bias": 0.7, "icc": 0.3, "prompt_correlation": 0.6, "token_noise": 0.5, "edit": 0.2, "letter": 0.3}
    entry = SimulatedEntry(kind="simulated", **settings, label_length=0.1, refused=0.2, unreadable=0.1, affected=0.8)
    return {
        benchmark: {
            task: json.loads(asked.answer(entry).head(3).to_json(orient="records", double_precision=15))
            for task, asked in benches.bench(benchmark).questions.items()
        }
        for benchmark in ("bbq", "crows_pairs", "dbb", "mcbe", "stereoset", "twbias")
    }


def parsed_answers() -> dict:
    return texts.parsed_answers(PARSERS, texts.SHARED)


def mcbe_parsed_answers() -> dict:
    return texts.parsed_answers(MCBE_PARSERS, texts.MCBE)


GOLDEN = [
    Golden("local", ("biasatlas.models.local", "biasatlas.benchmarks.shared.parsing"), causal),
    Golden("local_limits", ("biasatlas.models.local", "biasatlas.benchmarks.shared.parsing"), causal_at_limits),
    Golden("masked", ("biasatlas.models.masked",), masked),
    Golden("simulated", ("biasatlas.models.simulated",), simulated),
    Golden("endpoint", ("biasatlas.models.endpoint",), replies.records),
    Golden("calls", ("biasatlas.models.endpoint",), calls.bodies),
    Golden("responses", ("biasatlas.models.endpoint", "biasatlas.benchmarks.shared.parsing"), replies.responded),
    Golden("parsers", ("biasatlas.benchmarks.shared.parsing",), parsed_answers),
    Golden(
        "mcbe_parsers", ("biasatlas.benchmarks.mcbe.spec", "biasatlas.benchmarks.shared.parsing"), mcbe_parsed_answers
    ),
]
