"""What BBQ's tests share: its options, and its steps with the arguments that few tests change."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.families.questions.spec import LABELS
from biasatlas.resources import Resources

SAMPLE = ROOT / "resources" / "samples" / "bbq"
NONE = Resources({})
PROMPTS = Resources.shipped("prompts/bbq/*", "errata/bbq.yaml")
PUBLISHED = Resources.shipped("published/*").published
CATEGORIES = registry.load_spec("bbq").tasks["question"].categories
score_responses = registry.score_responses("bbq")
import_responses = registry.import_responses("bbq")
OPTIONS = registry.load_options("bbq", "recommended")
RELEASED = OPTIONS.model_copy(
    update={
        "bias_formula": "paper",
        "untargeted": "drop",
        "text": "published",
        "layout": "plain",
        "prompt": "unifiedqa",
    }
)


def read_items(files):
    return registry.read_items("bbq")({name: Path(path) for name, path in files.items()}, NONE)


def build_requests(items, options=OPTIONS):
    return registry.build_requests("bbq")(items, "question", CATEGORIES, options, PROMPTS)


def respond(requests, probabilities, refused=0.0):
    """Choice responses with the given rows of three probabilities."""
    probabilities = np.asarray(probabilities, float)
    return pd.DataFrame(
        {
            "request_id": requests["request_id"],
            "repeat": 0,
            "status": "ok",
            "detail": "",
            "probabilities": [json.dumps(row) for row in probabilities.tolist()],
            "refused": refused,
            "ambiguous": 0.0,
            "unparseable": 1 - probabilities.sum(axis=1) - refused,
            "unresolved": 0.0,
        }
    )


def one_hot(labels):
    return np.array([[label == other for other in LABELS] for label in labels], float)


def score(items, requests, responses, options=OPTIONS, model="oracle"):
    parts = [
        score_responses(items, requests, responses, "question", name, options, NONE).assign(category=name)
        for name in items["category"].unique()
    ]
    scores = pd.concat(parts, ignore_index=True)
    return scores.assign(model=model, task="question")


def bias(scores, options=OPTIONS, published_as=None):
    return registry.tables("bbq")["bias"](scores, options, PUBLISHED, published_as or {})


def value(table, metric, condition, category="overall"):
    rows = table.query(
        "metric == @metric and condition == @condition and category == @category and label_type == 'all'"
    )
    return rows["value"].item()


def read_sample():
    return read_items({path.relative_to(SAMPLE).as_posix(): path for path in SAMPLE.rglob("*") if path.is_file()})


def read_mirrored(files):
    """Items of the real data; published answers among the ``files`` are left out."""
    return read_items({name: path for name, path in files.items() if not name.startswith("results/")})
