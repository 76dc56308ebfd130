"""What DBB's tests share: the sample, templates written here, simulated models whose answers are known, and scoring."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from standins import resources

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb import CATEGORIES
from biasatlas.benchmarks.dbb.spec import SPEC, DBBOptions
from biasatlas.resources import Resources

SAMPLE = ROOT / "resources" / "samples" / "dbb"
TABLES = registry.tables("dbb")
RECOMMENDED, PAPER, RELEASED = (registry.load_options("dbb", name) for name in ("recommended", "paper", "released"))
#: The paper's order and words, without sampling.
EXACT = PAPER.model_copy(update={"estimator": "option_probability"})
#: Each step's resources: shipped files, and stand-ins for the prompt templates of others.
RESOURCES = {step: resources("dbb", *patterns) for step, patterns in SPEC.resources.items()}
PUBLISHED = Resources.shipped("published/dbb_*.csv").published


def changed(options: DBBOptions, **update: object) -> DBBOptions:
    return options.model_copy(update=update)


def files_of(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def read_items(files: dict[str, Path]) -> pd.DataFrame:
    return registry.read_items("dbb")(files, RESOURCES["items"])


def build_requests(rows: pd.DataFrame, task: str, categories: Sequence[str], options: DBBOptions) -> pd.DataFrame:
    return registry.build_requests("dbb")(rows, task, categories, options, RESOURCES["requests"])


def write_questions(folder: Path, *rows: tuple[str, str, str]) -> dict[str, Path]:
    """Write a file of question templates, each (context, option 1, option 2); returns the files of ``folder``."""
    path = folder / "Questions/own_all_data_questions.csv"
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Context", "s1", "s2", "bias type1", "bias type2", "explanation", "bias_type", "target"])
        writer.writerows([*row, f"one {number}", f"two {number}", "", "gender", ""] for number, row in enumerate(rows))
    return files_of(folder)


def choices(asked: pd.DataFrame, p_first_concept, refused=0.0, unparseable=0.0) -> pd.DataFrame:
    """Responses that choose the first concept's option with the given probability wherever they are an answer."""
    p = np.broadcast_to(np.asarray(p_first_concept, float), len(asked))
    first = np.where(asked["order"] == 1, p, 1 - p) * (1 - refused - unparseable)
    pairs = np.column_stack([first, 1 - refused - unparseable - first])
    return pd.DataFrame(
        {
            "request_id": asked["request_id"],
            "repeat": 0,
            "status": "ok",
            "detail": "",
            "probabilities": [json.dumps(pair) for pair in pairs.tolist()],
            "refused": refused,
            "ambiguous": 0.0,
            "unparseable": unparseable,
            "unresolved": 0.0,
            "replies": None,
        }
    )


def likelihoods(asked: pd.DataFrame, perplexities: dict[int, float]) -> pd.DataFrame:
    """Responses in which every variation of an option has the same perplexity, and ten tokens."""
    nll = np.log(asked["option"].map(perplexities).to_numpy(float))
    return pd.DataFrame(
        {
            "request_id": asked["request_id"],
            "status": "ok",
            "detail": "",
            "nll_per_token": nll,
            "log_likelihood": -10 * nll,
        }
    )


def by_identity(asked: pd.DataFrame, identity: str) -> pd.Series:
    """Whether a request describes ``identity``."""
    return asked["item_id"].str.endswith(f"/{identity}")


def score(
    rows: pd.DataFrame,
    options: DBBOptions,
    respond: Callable[[pd.DataFrame], pd.DataFrame],
    task: str = "MCQ",
    categories: Sequence[str] = CATEGORIES,
) -> pd.DataFrame:
    """Scores of a model that answers as ``respond`` does, with the columns ``model``, ``task`` and ``category``."""
    asked = build_requests(rows, task, categories, options)
    responses = respond(asked)
    parts = [
        registry.score_responses("dbb")(rows, asked, responses, task, name, options, Resources({})).assign(
            category=name
        )
        for name in categories
    ]
    return pd.concat(parts, ignore_index=True).assign(model="model", task=task)


def table_of(name: str, rows: pd.DataFrame, options: DBBOptions, published_as: dict[str, str] | None = None):
    return TABLES[name](rows, options, PUBLISHED, published_as or {})


def value(rows: pd.DataFrame, metric: str, **keys: object) -> float:
    """The one value of ``metric`` at ``keys``."""
    for name, key in keys.items():
        rows = rows[rows[name] == key]
    return rows.loc[rows["metric"] == metric, "value"].item()
