"""The published order against others: simulated models, and models of words that were trained on a list."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from benches import sample_items, simulated

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.contamination.scores import order_estimates
from biasatlas.benchmarks.contamination.spec import CROWS_PAIRS, LISTS
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.simulation.harness import Harness
from biasatlas.stats.tests import exchanged

read_items = registry.read_items("contamination")

NOUNS = [f"word{number}" for number in range(60)]
OPTIONS = registry.load_options("contamination", "recommended")


def made_up(count, seed=0):
    """A list of sentences of words drawn at random."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(NOUNS, 6)) for _ in range(count)]
    return pd.DataFrame({"item_id": [f"i{n}" for n in range(count)], "category": CROWS_PAIRS, "text": texts})


BENCH = Harness.of("contamination", "recommended", Resources({}), made_up(410), ["order"])


def estimates(entry):
    return order_estimates(BENCH.scores(entry, "m"))


def trained(text):
    """Log-likelihood of a text under a model of pairs of words that was trained on another, with smoothing."""
    pairs, words = Counter(itertools.pairwise(text.split())), Counter(text.split())

    def log_likelihood(asked):
        tokens = asked.split()
        return sum(math.log((pairs[pair] + 0.1) / (words[pair[0]] + 6)) for pair in itertools.pairwise(tokens))

    return log_likelihood


def answered(items, model):
    """The table of a model that answers by a function of a text."""
    requests = registry.build_requests("contamination")(items, "order", LISTS, OPTIONS, Resources({}))
    value = requests["continuation"].map(model)
    responses = pd.DataFrame(
        {"request_id": requests["request_id"], "status": "ok", "detail": "", "log_likelihood": value}
    )
    scores = registry.score_responses("contamination")(
        items, requests, responses, "order", CROWS_PAIRS, OPTIONS, Resources({})
    )
    table = registry.tables("contamination")["order"](scores.assign(model="m", category=CROWS_PAIRS), OPTIONS, None, {})
    return table.set_index("metric")["value"]


def test_lists_keep_their_published_order():
    items = sample_items("contamination")
    pairs = sample_items("crows_pairs")
    assert items["item_id"].tolist() == [f"crows_pairs/{number}" for number in pairs["item_id"]]
    assert items["text"].iloc[0] == f"{pairs['more'].iloc[0]}\n{pairs['less'].iloc[0]}"
    shipped = Resources.shipped("samples/stereoset/data/dev.json")
    examples = read_items({"data/dev.json": shipped.path("samples/stereoset/data/dev.json")}, Resources({}))
    assert list(examples["category"].unique()) == list(LISTS[1:])
    with pytest.raises(UserError, match="no list of CrowS-Pairs or StereoSet among"):
        read_items({}, Resources({}))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,Again.,And again.", r"line 3: the number of the pair is '0'\. Expected one of its own\."),
        (",One.,Two.", "line 3: the number of the pair is ''"),
        ("1,One.,", "line 3.*sent_less"),
    ],
)
def test_a_list_of_pairs_that_cannot_be_read(tmp_path, row, message):
    path = tmp_path / "crows_pairs.csv"
    path.write_text(f",sent_more,sent_less\n0,First.,Second.\n{row}\n", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_items({"crows_pairs.csv": path}, Resources({}))


def test_every_order_of_a_block_has_the_same_items():
    requests = BENCH.requests["order"]
    assert requests.groupby("block")["length"].first().tolist().count(20) == 20 and requests["length"].min() == 10
    lines = requests["continuation"].str.split("\n")
    assert lines.map(lambda block: tuple(sorted(block))).groupby(requests["block"]).nunique().eq(1).all()
    published = "\n".join(requests.loc[requests["order"] == 0, "continuation"])
    assert published == "\n".join(BENCH.items["text"])


def test_the_test_has_its_level_however_likelihoods_are_distributed():
    """600 samples of 12 blocks with heavy tails: the share below 0.05 within three standard errors."""
    rng = np.random.default_rng(5)
    found = np.array([exchanged(rng.standard_t(2, (12, 5)) * 50, draws=199) for _ in range(600)])
    assert np.mean(found <= 0.05) == pytest.approx(0.05, abs=0.027)
    assert found.mean() == pytest.approx(0.5, abs=0.04)


def test_a_block_that_lacks_an_order_counts_with_all_of_its_items():
    scores = BENCH.scores(simulated(seed=1, noise=1.0), "m")
    lost = scores["block"].isin(scores["block"].unique()[:2]) & (scores["order"] == 3)
    some = scores.assign(
        status=scores["status"].mask(lost, "failed"), log_likelihood=scores["log_likelihood"].mask(lost)
    )
    table = registry.tables("contamination")["order"](some, OPTIONS, None, {})
    assert table[["n", "failed"]].drop_duplicates().values.tolist() == [[410 - 40, 40]]


def test_known_models_have_the_advantage_that_their_formula_says():
    """A bias is what a block gains by its published order: here 4 nats, over 410 items in 21 blocks."""
    for bias in (0.0, 4.0):
        expected_bias = bias * 21 / 410
        found = [estimates(simulated(seed=seed, noise=1.0, bias=bias)) for seed in range(8)]
        assert np.mean([each["order_advantage"].value for each in found]) == pytest.approx(expected_bias, abs=0.02)
        assert sum(each["order_p"].value < 0.01 for each in found) == (8 if bias else 0)


@pytest.mark.parametrize("seed", range(3))
def test_a_model_trained_on_the_published_order_is_flagged_and_one_trained_on_another_is_not(seed):
    items = made_up(200, seed)
    text = items["text"].to_numpy(object)
    contaminated = answered(items, trained("\n".join(text)))
    assert contaminated["flagged"] == 1 and contaminated["order_advantage"] > 0.1
    shuffled = answered(items, trained("\n".join(np.random.default_rng(seed).permutation(text))))
    assert shuffled["flagged"] == 0


def test_few_blocks_say_nothing():
    found = answered(made_up(90), trained("word1 word2"))
    assert found[["order_advantage", "order_p", "flagged"]].isna().tolist() == [False, False, False]
    assert answered(made_up(60), trained("word1 word2")).isna()[["order_p", "flagged"]].all()
