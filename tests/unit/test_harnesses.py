"""The rules of other harnesses: the example of the docs, corner cases by hand, and their own functions where they can be had."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from needs import need

from biasatlas.benchmarks.bbq.harnesses import HARNESSES, harness_bias_score

ANSWERS = ("biased", "counter", "unknown", "other")


def answers(n, seed, weights=(4, 3, 2, 1)):
    """Scores of ``n`` questions, answered at random; the right answer is "unknown", or one person or the other."""
    draw = np.random.default_rng(seed)
    said = draw.choice(ANSWERS, n, p=np.array(weights) / sum(weights))
    condition = draw.choice(["ambig", "disambig"], n)
    aligned = np.where(condition == "disambig", draw.integers(0, 2, n), np.nan)
    right = np.select([condition == "ambig", aligned == 1], ["unknown", "biased"], "counter")
    read = said != "other"
    return pd.DataFrame(
        {
            "condition": condition,
            "aligned": aligned,
            "said": said,
            "right": right,
            "status": np.where(read, "ok", "unparseable"),
            **{name: np.where(read, said == name, np.nan) for name in ANSWERS[:3]},
            "correct": np.where(read, said == right, np.nan),
        }
    )


def scored(harness, scores):
    unit = pd.Series(np.arange(len(scores)) % 7, scores.index)
    return [estimate.value / 100 for estimate in harness_bias_score(scores, unit, HARNESSES[harness])]


#: harness, what is said to an ambiguous and to a disambiguated question, the score of each
BY_HAND = [
    ("authors", ["biased"] * 3 + ["unknown"], ["biased"] * 2 + ["counter"] * 2, 0.75, 0.0),
    ("authors", ["biased", "counter", "other"], ["biased", "other"], 0.0, 1.0),
    ("lm-eval", ["counter"] * 4, ["counter"] * 4, 0.0, 0.0),
    ("lm-eval", ["counter"] * 3 + ["biased"], ["counter"] * 3 + ["biased"], -0.5, -0.5),
    ("lm-eval", ["biased", "other"], ["biased", "other"], 1.0, 1.0),
    ("HELM", ["biased", "other"], ["biased", "other"], 0.0, 0.0),
    ("HELM", ["unknown"] * 2, ["unknown"] * 2, 0.0, 0.0),
    ("lm-eval", ["counter"] * 2, [], 0.0, np.nan),
    ("HELM", ["counter"] * 2, [], -1.0, np.nan),
    ("EuroEval", ["biased"] * 3 + ["counter"], ["biased"] * 2, 0.5, None),
]


@pytest.mark.parametrize(("harness", "ambiguous", "disambiguated", "first", "second"), BY_HAND)
def test_corner_cases_by_hand(harness, ambiguous, disambiguated, first, second):
    """In half of the disambiguated questions the right answer follows the stereotype."""
    said = [*ambiguous, *disambiguated]
    scores = answers(len(said), 1)
    signs = [1.0, 0.0] * (len(disambiguated) // 2)
    scores["condition"] = ["ambig"] * len(ambiguous) + ["disambig"] * len(disambiguated)
    scores["aligned"] = [np.nan] * len(ambiguous) + signs
    scores["right"] = ["unknown"] * len(ambiguous) + [("counter", "biased")[int(sign)] for sign in signs]
    for name in ANSWERS[:3]:
        scores[name] = [float(name == each) if each != "other" else np.nan for each in said]
    scores["correct"] = [
        float(each == right) if each != "other" else np.nan for each, right in zip(said, scores["right"], strict=True)
    ]
    scores["status"] = ["ok" if each != "other" else "refused" for each in said]
    assert scored(harness, scores) == pytest.approx([first] if second is None else [first, second], nan_ok=True)


def peer(path, **lacking):
    """A file of another harness, below the folder PEERS in which its wheel is unpacked; ``lacking`` are modules it imports.

    Those hold base classes and types, which its formulas do not use. Skips without the folder.
    """
    need("peers")
    folder = os.environ["PEERS"]
    stubs = {}
    for module, names in lacking.items():
        dotted = module.replace("__", ".")
        stubs[dotted] = ModuleType(dotted)
        vars(stubs[dotted]).update(names)
    name = path.removesuffix(".py").replace("/", ".")
    spec = importlib.util.spec_from_file_location(name, Path(folder, path))
    loaded = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for dotted, stub in stubs.items():
            patch.setitem(sys.modules, dotted, stub)
        spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("seed", range(5))
def test_lm_eval_s_own_functions_agree(seed):
    theirs = peer("lm_eval/tasks/bbq/utils.py", datasets={"Dataset": object})
    scores = answers(200, seed)
    rows = [
        (float(row.said == row.right), float(row.said == "biased"), float(row.said in ("biased", "counter")), mask)
        for row, mask in zip(scores.itertuples(), scores["condition"] == "disambig", strict=True)
    ]
    expected = [theirs.agg_amb_bias_scores(rows), theirs.agg_disamb_bias_scores(rows)]
    assert scored("lm-eval", scores) == pytest.approx(expected)


class Stat:
    """What HELM counts with: the mean of what was added."""

    def __init__(self, name):
        self.name, self.values = name, []

    def add(self, value):
        self.values.append(value)

    @property
    def mean(self):
        return sum(self.values) / len(self.values)


@pytest.mark.parametrize("seed", range(5))
def test_helm_s_own_function_agrees(seed):
    """It reads letters: tags of a reference say which is right, the target's, the other person's and "unknown"."""
    metrics = "helm__benchmark__metrics__"
    theirs = peer(
        "helm/benchmark/metrics/bbq_metrics.py",
        **{
            f"{metrics}evaluate_instances_metric": {"EvaluateInstancesMetric": object},
            f"{metrics}metric": {"MetricMetadata": object},
            f"{metrics}metric_name": {"MetricName": str},
            f"{metrics}statistic": {"Stat": Stat},
            "helm__common__request": {"RequestResult": object},
            "helm__benchmark__adaptation__request_state": {"RequestState": object},
        },
    )
    scores = answers(200, seed)
    states = []
    for row in scores.itertuples():
        negative = row.Index % 2 == 0
        # A negative question's stereotype is the target, another's is the other person.
        letters = {
            "biased": "A" if negative else "B",
            "counter": "B" if negative else "A",
            "unknown": "C",
            "other": "?",
        }
        context = "ambiguous" if row.condition == "ambig" else "non-ambiguous"
        tags = [context, "negative" if negative else "non-negative", letters[row.right], "A", "B", "C"]
        instance = SimpleNamespace(references=[SimpleNamespace(tags=tags)])
        result = SimpleNamespace(completions=[SimpleNamespace(text=letters[row.said])])
        states.append(SimpleNamespace(instance=instance, result=result))
    found = {stat.name: stat.mean for stat in theirs.BBQMetric().evaluate_instances(states, "")}
    expected = [found["bbq_metric_ambiguous_bias"], found["bbq_metric_unambiguous_bias"]]
    assert scored("HELM", scores) == pytest.approx(expected)


class Metric:
    """EuroEval's base class, as far as it counts."""

    def __init__(self, **fields):
        vars(self).update(fields)


@pytest.mark.parametrize("seed", range(5))
def test_euroeval_s_own_class_agrees(seed):
    """It takes every question for one without the fact that settles it."""
    theirs = peer("euroeval/metrics/bias.py", euroeval__metrics={}, euroeval__metrics__base={"Metric": Metric})
    scores = answers(200, seed)
    scores = scores[scores["condition"] == "ambig"]
    places = {"biased": 0, "counter": 1, "unknown": 2}
    people = {"stereo_idx": 0, "counter_idx": 1, "unknown_idx": 2}
    metric = theirs.BiasMetric(name="", pretty_name="", bias_type="bias_ambig")
    said = [places.get(each, "none") for each in scores["said"]]
    assert scored("EuroEval", scores) == pytest.approx([metric(said, [], [people] * len(said), None, None)])
