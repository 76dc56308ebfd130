"""Simulated models: the formula holds on the requests that a run would ask, and noise belongs to names."""

import json

import numpy as np
import pandas as pd
import pytest
from benches import bench, sample_items, simulated
from scipy.special import softmax
from scipy.stats import norm

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.bias_roles import text_roles
from biasatlas.errors import UserError
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import open_model
from biasatlas.models.simulated.answer import Questions
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.models.simulated.formula import STREAMS, TaskRun, hashed, normal, preference, uniform

ASKED = [
    (name, task)
    for name in registry.benchmark_names()
    if registry.has_roles(registry.load_spec(name))
    for task in registry.load_spec(name).tasks
]


@pytest.mark.parametrize(("benchmark", "task"), ASKED)
def test_an_answer_depends_on_its_request_alone(benchmark, task):
    """Half of the requests, in another order, get the answers that they have among all; another seed gives others."""
    requests, items = bench(benchmark).requests[task], sample_items(benchmark)
    entry = simulated(certain=True, token_noise=1.0, icc=0.3, prompt_correlation=0.5, refused=0.3, unreadable=0.3)
    whole = bench(benchmark).questions[task].answer(entry)
    part = requests.sample(frac=0.5, random_state=1)
    again = Questions.of(benchmark, items, part, task).answer(entry)
    expected = whole.set_index(["request_id", "repeat"]).loc[
        list(zip(again["request_id"], again["repeat"], strict=True))
    ]
    pd.testing.assert_frame_equal(again.set_index(["request_id", "repeat"]), expected)
    other = bench(benchmark).questions[task].answer(entry.model_copy(update={"seed": 2}))
    assert not other.equals(whole)


def test_draws_are_uniform_and_those_of_other_seeds_purposes_and_names_independent():
    names = hashed(np.array([f"item-{number}" for number in range(100_000)], object))
    draws = uniform(names, 1, "part")
    assert draws.min() > 0 and draws.max() < 1
    assert np.histogram(draws, 20, (0, 1))[0] == pytest.approx(5000, abs=5 * np.sqrt(5000))
    others = [uniform(names, 2, "part"), uniform(names + np.uint64(1), 1, "part"), uniform(names[::-1], 1, "part")]
    others += [uniform(names, 1, stream) for stream in STREAMS if stream != "part"]
    assert [abs(np.corrcoef(draws, other)[0, 1]) < 0.016 for other in others] == [True] * len(others)
    assert normal(names, 1, "part").std() == pytest.approx(1, abs=0.01)


def pairs(count, a_cluster=4):
    """Pairs of a stereotype and its counterpart, some to a cluster, made up."""
    names = np.array([f"{pair}/{side}" for pair in range(count) for side in "+-"], object)
    of = np.arange(2 * count) // 2
    about = pd.DataFrame({"cluster": (of // a_cluster).astype(str), "category": "c", "group": "g"})
    return TaskRun.of(text_roles(about, pd.Series(names), np.tile([0.5, -0.5], count)), names)


@pytest.mark.parametrize("settings", [{}, {"icc": 0.4}, {"icc": 1.0}, {"prompt_correlation": 0.2}])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_a_stereotype_is_preferred_as_often_as_the_formula_says(bias, settings):
    """Phi(bias / (sqrt(2) noise)), however the noise is shared out."""
    z = preference(simulated(bias=bias, noise=0.8, **settings), pairs(40_000, a_cluster=1)).reshape(-1, 2)
    expected = norm.cdf(bias / (np.sqrt(2) * 0.8))
    assert (z[:, 0] > z[:, 1]).mean() == pytest.approx(expected, abs=0.01)  # four standard errors


@pytest.mark.parametrize("icc", [0.0, 0.3])
def test_a_cluster_has_its_share_of_the_variance_in_common(icc):
    z = preference(simulated(noise=1.0, icc=icc), pairs(40_000)).reshape(-1, 4, 2)
    difference = z[..., 0] - z[..., 1]
    assert difference.var() == pytest.approx(2, rel=0.03)
    assert np.cov(difference[:, 0], difference[:, 1])[0, 1] / 2 == pytest.approx(icc, abs=0.04)


def test_a_bias_acts_in_the_share_of_clusters_that_it_affects():
    z = preference(simulated(bias=1.0, affected=0.25, noise=0.0), pairs(40_000)).reshape(-1, 4, 2)
    acts = z[..., 0] > z[..., 1]
    assert (acts.all(axis=1) == acts.any(axis=1)).all()
    assert acts.mean() == pytest.approx(0.25, abs=0.02)


def test_a_choice_is_the_softmax_of_the_formula():
    tried = bench("bbq", wanted=("Age",))
    entry = simulated(bias=0.7, right=1.1, unknown=0.4, letter=0.3, noise=0.0, refused=0.2, unreadable=0.5)
    answers = tried.questions["question"].answer(entry).set_index("request_id")
    for item in sample_items("bbq").query("category == 'Age'").itertuples():
        z = np.array([0.3, 0, 0]) + [1.1 * (label == item.gold) + 0.4 * (label == item.unknown) for label in "ABC"]
        z += [0.0 if label == item.unknown else 0.35 if label == item.target else -0.35 for label in "ABC"]
        answer = answers.loc[item.item_id]
        assert json.loads(answer["probabilities"]) == pytest.approx(list(0.4 * softmax(z)))
        assert (answer["refused"], answer["unparseable"]) == pytest.approx((0.2, 0.4))


def test_the_same_question_in_another_order_has_the_same_noise():
    """So both orders of a question say the same of its options, but for a preference for a letter."""
    tried = bench("dbb", ("MCQ",), ("Gender",))
    answers = tried.questions["MCQ"].answer(simulated(noise=2.0)).merge(tried.requests["MCQ"], on="request_id")
    first = answers["probabilities"].map(lambda text: json.loads(text)[0])
    one = first.where(answers["order"] == 1, 1 - first).groupby(answers["item_id"])
    assert one.nunique().max() <= 2 and (one.max() - one.min()).max() < 1e-12
    assert one.first().std() > 0.2


def test_the_most_particular_bias_counts():
    tried = bench("stereoset", ("intrasentence",))
    entry = simulated(bias=50.0, bias_by_category={"race": -50.0}, bias_by_group={"schoolgirl": 0.0})
    scores = tried.scores(entry, "m")
    race = scores["category"] == "race"
    assert scores["stereotyped"][race].max() == 0
    assert scores["stereotyped"][~race & (scores["target"] != "schoolgirl")].min() == 1


def test_costs_of_tokens_follow_their_frequency():
    """A text costs what its words do: minus the log of their share of the benchmark's words."""
    tried, items = bench("crows_pairs", ("pair",)), sample_items("crows_pairs")
    words = pd.concat([items["more"], items["less"]]).str.split().explode()
    share = words.value_counts(normalize=True)
    answers = tried.questions["pair"].answer(simulated(noise=0.0, nats_per_token=1.0, frequency=0.5))
    text = tried.requests["pair"]["continuation"].iloc[0].split()
    assert answers["tokens"][0] == len(text)
    assert answers["log_likelihood"][0] == pytest.approx(-len(text) + 0.5 * np.log(share[text]).sum())


def test_what_swapped_terms_cost_is_told_by_the_places_swapped():
    tried = bench("twbias", wanted=("female-male",))
    requests, items = tried.requests["perplexity"], sample_items("twbias").set_index("item_id")
    edits = tried.questions["perplexity"].asked.roles.edits
    assert (edits[requests["variant"] == 0] == 0).all() and (edits[requests["variant"] > 0] >= 1).all()
    row = int(np.flatnonzero(requests["variant"] == 1)[0])
    swaps = json.loads(items.loc[requests["item_id"][row], "swaps"])["male"]
    original = items.loc[requests["item_id"][row], "sentence"]
    longest = max((term for term, _ in swaps), key=len)
    assert edits[row] == original.count(longest)


@pytest.mark.parametrize(
    ("benchmark", "protocol"),
    [
        (name, protocol)
        for name in sorted({name for name, _ in ASKED} - {"bbq", "crows_pairs"})
        for protocol in registry.protocol_names(name)
        # The sample has no file of descriptors, which this protocol takes.
        if (name, protocol) != ("dbb", "released")
    ],
)
def test_every_protocol_s_requests_are_answered_readably(benchmark, protocol):
    """Whatever is asked, and however it is read: a model that neither refuses nor mumbles is scored on every item."""
    tasks = dict(registry.load_spec(benchmark).tasks)
    if (benchmark, protocol) == ("mcbe", "released"):
        del tasks["SC"]  # a judge orders its texts first
    items = sample_items(benchmark)
    there = set(items["category"]) if "category" in items else set()
    category = next(name for name in next(iter(tasks.values())).categories if name in there or not there)
    scores = bench(benchmark, tuple(tasks), (category,), protocol).scores(simulated(quality=0.8), "m")
    assert set(scores["status"]) <= {"ok", "not_applicable"}, scores["detail"].unique()


def test_it_writes_no_questions():
    with pytest.raises(UserError, match=r"models\.m: .* name another writer"):
        open_model(ModelContext("m", SimulatedEntry(kind="simulated")))
