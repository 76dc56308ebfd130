"""Which numbers tell models apart, and which rank them alike: made-up evidence, and StereoSet's eleven printed models."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benches import bench, simulated
from scipy.stats import spearmanr

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.pairs import BenchmarkEvidence
from biasatlas.benchmarks.comparisons.reliability import (
    KEYS,
    agreement,
    form_agreement,
    reliability,
    reliability_table,
    split_half,
)
from biasatlas.benchmarks.shared.evidence import Evidence, items_of, median_item
from biasatlas.resources import Resources
from biasatlas.stats.intervals import rank_correlation
from biasatlas.stats.replicates import ratio_replicates

RNG = np.random.default_rng(3)
ITEMS = pd.Series([f"i{n}" for n in range(200)])
CLUSTERS = pd.Series([f"c{n % 40}" for n in range(200)])
HARD = RNG.normal(0, 1, 200)


def evidence(mean, noise, category="overall", rng=RNG):
    """Items are as hard for every model; ``noise`` is each model's own."""
    values = pd.Series(mean + HARD + rng.normal(0, noise, 200))
    made = ratio_replicates(values, np.ones(200), CLUSTERS)
    return Evidence("m", "", category, made, items_of(ITEMS, CLUSTERS))


def test_models_that_differ_by_their_noise_alone_are_not_told_apart():
    same = np.mean([reliability([evidence(0.0, 1.0) for _ in range(6)]).value for _ in range(15)])
    assert same < 0.25  # cut at 0, so above it by chance
    assert reliability([evidence(mean, 0.2) for mean in (0.0, 0.5, 1.0)]).value > 0.98


def test_models_of_one_cluster_have_no_reliability():
    alone = [
        replace(evidence(mean, 0.1), replicates=ratio_replicates([mean], [1.0], ["c"])) for mean in (0.0, 1.0, 2.0)
    ]
    found = reliability(alone)
    assert math.isnan(found.value) and found.no_interval_reason


def test_a_table_has_reliabilities_and_rank_correlations():
    means = {"a": 0.0, "b": 1.0, "c": 2.0}
    found = {
        model: {each.key: each for each in (evidence(mean, 0.1, "x"), evidence(-mean, 0.1, "y"))}
        for model, mean in means.items()
    }
    table = reliability_table([BenchmarkEvidence("bench", "bbq", {}, found)])
    assert table[list(KEYS)].isna().sum().sum() == 0
    assert table["metric"].tolist() == ["reliability", "reliability", "rank_correlation"]
    (row,) = table[table["metric"] == "rank_correlation"].to_dict("records")
    assert (row["value"], row["other"], row["no_interval_reason"]) == (-1.0, "bench m y", "3 clusters, 5 are needed")


def test_halves_of_a_mean_are_as_reliable_as_theory_says():
    """The variance of models' means over that plus their sampling error, which 200 models tell to a few hundredths."""
    rng = np.random.default_rng(7)
    for error in (0.3, 1.0):
        models = [evidence(mean, error * math.sqrt(200), rng=rng) for mean in rng.normal(0, 1, 200)]
        assert split_half(models, shared=True).value == pytest.approx(1 / (1 + error**2), abs=0.1)


def test_categories_alike_in_both_halves_and_models_of_other_clusters():
    categories = [evidence(mean, 0.1) for mean in range(6)]
    assert split_half(categories, shared=False).value > 0.95
    # Models alike over all clusters: where one is above the others in a half it is below them in the other.
    noise = [pd.Series(RNG.normal(0, 1, 200)) for _ in range(6)]
    alike = [ratio_replicates(each - each.mean(), np.ones(200), CLUSTERS) for each in noise]
    assert split_half([replace(categories[0], replicates=each) for each in alike], shared=True).value == -1
    other = replace(categories[0].replicates, without=categories[0].replicates.without.iloc[1:])
    found = split_half([*categories[1:], replace(categories[0], replicates=other)], shared=True)
    assert math.isnan(found.value) and found.no_interval_reason == "the models answered different clusters"


@pytest.mark.parametrize(("flipped", "kappa"), [(0.0, 1.0), (0.25, 0.5), (0.5, 0.0)])
def test_two_forms_agree_by_cohen_s_kappa(flipped, kappa):
    """Half of the items on each side; a share of them changes sides in the other form."""
    signs = pd.Series(np.tile([1.0, -1.0], 100))
    other = signs.where(np.arange(200) % 40 >= 40 * flipped, -signs)
    one, two = (replace(evidence(0.0, 1.0), items=items_of(ITEMS, CLUSTERS, each)) for each in (signs, other))
    found = form_agreement(one, two)
    assert found.value == pytest.approx(kappa) and found.n == 200
    assert form_agreement(one, replace(two, items=two.items.set_axis(two.items.index + "x"))) is None


def test_known_models_that_differ_by_their_seed_vary_as_their_standard_error_says():
    made = bench("crows_pairs", ("pair",))
    scores = pd.concat([made.scores(simulated(seed=seed, noise=1.0), f"s{seed}") for seed in range(5)])
    run = BenchmarkEvidence.of(scores, "crows_pairs", "crows_pairs", made.options)
    table = reliability_table([run], [list(run.found)])
    (row,) = table.query("metric == 'seed_spread' and category == 'overall' and measure == 'stereotype_score'").to_dict(
        "records"
    )
    pairs = int(scores["item_id"].nunique())
    assert row["ci_low"] < 100 * math.sqrt(0.25 / pairs) < row["ci_high"]  # each pair a coin
    assert row["model"].startswith("s0, s1, ") and row["n"] == 5


def test_a_prompted_and_a_likelihood_form_of_the_same_pairs_are_compared():
    made = bench("crows_pairs", ("pair", "pair_choice"))
    run = BenchmarkEvidence.of(
        made.scores(simulated(bias=0.5, seed=2), "m"), "crows_pairs", "crows_pairs", made.options
    )
    table = reliability_table([run])
    (row,) = table[table["metric"] == "form_agreement"].to_dict("records")
    assert (row["model"], row["part"], row["other"]) == ("m", "pair", "pair_choice")
    assert -1 <= row["value"] <= 1


def test_two_models_have_no_reliability():
    found = {model: {("m", "", "overall"): evidence(mean, 0.1)} for model, mean in (("a", 0.0), ("b", 1.0))}
    assert reliability_table([BenchmarkEvidence("bench", "bbq", {}, found)]).empty


def test_a_rank_correlation_is_scipy_s_and_its_interval_covers():
    """1,000 samples of 11 pairs with a Pearson correlation of 0.6, whose Spearman correlation is 6/pi asin(0.3)."""
    x, y = RNG.normal(size=(2, 30))
    assert rank_correlation(x, y).value == pytest.approx(spearmanr(x, y).statistic)
    spearman = 6 / math.pi * math.asin(0.3)
    held = []
    for _ in range(1000):
        x, e = RNG.normal(size=(2, 11))
        found = rank_correlation(x, 0.6 * x + 0.8 * e)
        held.append(found.low <= spearman <= found.high)
    assert 0.92 <= np.mean(held) <= 0.98


@pytest.mark.parametrize(("x", "y"), [([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]), ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), ([], [])])
def test_what_has_no_rank_correlation_says_why(x, y):
    found = rank_correlation(x, y)
    assert found.reason and math.isnan(found.low)


def test_stereoset_s_two_tasks_rank_eleven_models_as_docs_say():
    printed = Resources.shipped("published/stereoset_models.csv").published("stereoset_models")
    rows = printed[(printed["metric"] == "stereotype_score") & (printed["category"] == "overall")]
    values = rows.assign(value=rows["value"].astype(float)).pivot(index="model", columns="task", values="value")
    table = agreement(values[["intrasentence", "intersentence"]])
    assert len(values) == 11
    assert table["value"].tolist() == pytest.approx(
        [spearmanr(values["intrasentence"], values["intersentence"]).statistic]
    )


def test_gest_s_templates_rank_models_as_docs_say():
    """Mean log ratio of the nine stereotypes of men minus that of the seven of women, by model and template."""
    printed = Resources.shipped("published/gest_means.csv").published("gest_means")
    men = registry.description("gest").stereotype["he"]
    values = printed.assign(value=np.log(printed["value"].astype(float)), men=printed["category"].isin(men))
    means = values.groupby(["men", "model", "template"])["value"].mean()
    found = agreement((means[True] - means[False]).unstack()).dropna().set_index(["one", "two"])
    assert found.loc[("he", "the_man"), "n"] == 22 and len(found) == 7
    assert found["value"].round(2).to_dict() == {
        ("he", "the_man"): 0.92,
        ("he_said", "said_he"): 0.75,
        ("he_said", "said_the_man"): 0.93,
        ("he_said", "the_man_said"): 0.93,
        ("said_he", "said_the_man"): 0.76,
        ("said_he", "the_man_said"): 0.74,
        ("said_the_man", "the_man_said"): 0.91,
    }


def test_the_median_item_is_in_the_middle_of_those_that_lean_the_same_way():
    away = pd.Series([-9.0, -2.0, -1.0, 0.0, 0.5, 3.0, 7.0, math.nan])
    made = replace(evidence(0.0, 1.0), items=items_of(pd.Series(list("abcdefgh")), pd.Series(list("abcdefgh")), away))
    assert median_item(made, 0.2) == ("f", 3.0, 3)
    assert median_item(made, -0.2) == ("b", -2.0, 3)
    twice = replace(made, items=pd.concat([made.items, made.items.loc[["e"]].assign(away=-1.5)]))
    assert median_item(twice, 1.0) == ("f", 3.0, 2)  # an item's answers count as their mean
    for name, value in (("no side", math.nan), ("none of that side", 0.0)):
        assert median_item(made, value)[0] == "", name
    assert median_item(evidence(0.0, 1.0), 1.0)[0] == ""
