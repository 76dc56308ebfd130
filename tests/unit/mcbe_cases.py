"""Responders for McBE's tests: what a model with known behaviour answers to any request, and the pipeline around it."""

import itertools
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from standins import resources

from biasatlas import ROOT
from biasatlas.benchmarks import registry
from biasatlas.benchmarks.mcbe.spec import SPEC
from biasatlas.resources import Resources

SAMPLE = ROOT / "resources" / "samples" / "mcbe"
PROTOCOLS = {name: registry.load_options("mcbe", name) for name in ("paper", "released", "recommended")}


def _patterns(needed: tuple[str, ...] | Mapping[str, tuple[str, ...]]) -> list[str]:
    """The patterns of a step's resources; those of all tasks if each has its own."""
    return [*itertools.chain(*needed.values())] if isinstance(needed, Mapping) else [*needed]


#: Each step's resources: shipped files, and stand-ins for the prompt templates of others.
RESOURCES = {step: resources("mcbe", *_patterns(needed)) for step, needed in SPEC.resources.items()}
PUBLISHED = Resources.shipped("published/mcbe_*.csv").published


def sample_files() -> dict[str, Path]:
    return {path.name: path for path in sorted(SAMPLE.glob("*.xlsx"))}


def sample_items() -> pd.DataFrame:
    return registry.read_items("mcbe")(sample_files(), RESOURCES["items"])


def changed(options, **changes):
    """``options`` with some of them changed."""
    return options.model_copy(update=changes)


def requests_of(items, task, categories, options, orders=None) -> pd.DataFrame:
    return registry.build_requests("mcbe")(items, task, categories, options, RESOURCES["requests"], orders)


def judge_requests_of(items, requests, responses, options, judgements=None) -> pd.DataFrame:
    ask = registry.build_judge_requests("mcbe")
    return ask(items, requests, responses, "BA", options, RESOURCES["judge"], judgements)


def say(requests: pd.DataFrame, reply: Callable[..., str]) -> pd.DataFrame:
    """Generated responses: ``reply(request)`` to every request and repeat."""
    rows = [
        {"request_id": request.request_id, "repeat": repeat, "status": "ok", "detail": None, "text": reply(request)}
        for request in requests.itertuples()
        for repeat in range(request.repeats)
    ]
    return pd.DataFrame(rows)


def choose(requests: pd.DataFrame, shares: Callable[..., dict[str, float]], rest: str = "refused") -> pd.DataFrame:
    """Choice responses: ``shares(request)`` maps labels to probabilities; the remainder is ``rest``."""
    rows = []
    for request in requests.itertuples():
        masses = shares(request)
        probabilities = [masses.get(label, 0.0) for label in json.loads(request.labels)]
        left = dict.fromkeys(("refused", "ambiguous", "unparseable", "unresolved"), 0.0) | {
            rest: 1 - sum(probabilities)
        }
        status = "ok" if any(probabilities) else rest
        rows.append(
            {"request_id": request.request_id, "repeat": 0, "status": status, "detail": None}
            | {"probabilities": json.dumps(probabilities)}
            | left
        )
    return pd.DataFrame(rows)


def likelihoods(requests: pd.DataFrame, nll_per_token: Callable[..., float], tokens: int = 10) -> pd.DataFrame:
    nll = np.array([nll_per_token(request) for request in requests.itertuples()])
    frame = pd.DataFrame({"request_id": requests["request_id"], "repeat": 0, "status": "ok", "detail": None})
    return frame.assign(log_likelihood=-nll * tokens, tokens=tokens, nll_per_token=nll)


def scores_of(items, requests, responses, task, category, options, judgements=None) -> pd.DataFrame:
    score = registry.score_responses("mcbe")
    return score(items, requests, responses, task, category, options, RESOURCES["scores"], judgements)


def scored(items, task, options, respond, category="gender", judge=None) -> pd.DataFrame:
    """Scores of ``category`` when ``respond(requests)`` answers, and ``judge(requests)`` judges."""
    requests = requests_of(items, task, [category], options)
    responses = respond(requests)
    judgements = judge(judge_requests_of(items, requests, responses, options)) if judge else None
    return scores_of(items, requests, responses, task, category, options, judgements)


def categories(task: str) -> list[str]:
    return list(SPEC.tasks[task].categories)


def row(table: pd.DataFrame, **keys) -> pd.Series:
    """The one row of ``table`` with these ``keys``."""
    for column, value in keys.items():
        table = table[table[column] == value]
    assert len(table) == 1, keys
    return table.iloc[0]


PUBLISHED_AS = {"small": "Qwen2.5-0.5B-Instruct", "large": "Qwen2.5-7B-Instruct", "black-box": "GLM4-AIR"}


@cache
def measured_scores() -> pd.DataFrame:
    """Scores of a model on the whole sample, and of two others that differ at random, one of them without PC."""
    items, options, rng = sample_items(), PROTOCOLS["recommended"], np.random.default_rng(0)
    parts = []
    for task in SPEC.tasks:
        asked = requests_of(items, task, categories(task), options)
        answers = _at_random(asked, task, rng)
        judged = None
        if task == "BA":
            judged = choose(judge_requests_of(items, asked, answers, options), lambda _: {"4": 1.0})
        for category in categories(task):
            part = scores_of(items, asked, answers, task, category, options, judged)
            parts.append(part.assign(model="small", task=task, category=category))
    small = pd.concat(parts, ignore_index=True)
    stray = rng.normal(scale=5, size=(2, len(small)))
    large = small.assign(model="large", score=(small["score"] + 2 + stray[0]).clip(0, 100))
    black_box = small.assign(model="black-box", score=(small["score"] - 2 + stray[1]).clip(0, 100))
    return pd.concat([small, large, black_box[black_box["task"] != "PC"]], ignore_index=True)


def _at_random(asked: pd.DataFrame, task: str, rng: np.random.Generator) -> pd.DataFrame:
    """Random likelihoods or choices (a tenth of the mass refused); for BA, one fixed reply."""
    if task == "PC":
        return likelihoods(asked, lambda _: 2 + rng.standard_normal() / 3)
    if task == "BA":
        return say(asked.assign(repeats=1), lambda _: "这句话有偏见，因为以偏概全。")

    def shares(request):
        labels = json.loads(request.labels)
        return dict(zip(labels, 0.9 * rng.dirichlet(np.ones(len(labels))), strict=True))

    return choose(asked, shares)


def tables_of(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Every table that needs no file of the user's, by name."""
    return {
        name: registry.tables("mcbe")[name](
            scores[scores["task"].isin(spec.tasks)], PROTOCOLS["recommended"], PUBLISHED, PUBLISHED_AS
        )
        for name, spec in SPEC.tables.items()
        if not spec.file
    }
