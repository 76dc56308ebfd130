"""The statistics library against scipy, statsmodels and simulation."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from needs import need
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from biasatlas.benchmarks.shared.estimates import mean_of_means
from biasatlas.stats.clusters import cluster_sums, proportion, ratio
from biasatlas.stats.intervals import NEEDED, Inference, clopper_pearson, crossed, jackknife, minimum
from biasatlas.stats.multiplicity import adjust
from biasatlas.stats.regression import coefficient
from biasatlas.stats.replicates import crossed_replicates, ratio_replicates
from biasatlas.stats.tests import independent_t, moments, paired_dz, paired_t, pooled_d

FORM = {"paired": (paired_t, stats.ttest_rel), "independent": (independent_t, stats.ttest_ind)}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def pairs(rng):
    """Heavy-tailed, correlated columns, as perplexities are."""
    first = np.exp(rng.normal(4, 2, (60, 5)))
    return first, first * np.exp(rng.normal(0.1, 0.3, (60, 5)))


@pytest.mark.parametrize("form", FORM)
def test_t_tests_equal_scipy_also_where_pairs_are_missing(form, pairs):
    first, second = pairs
    first[3, 1] = second[7, 1] = np.nan
    statistic, p_value = FORM[form][0](moments(first, second))
    for column in range(first.shape[1]):
        whole = np.isfinite(first[:, column]) & np.isfinite(second[:, column])
        expected = FORM[form][1](second[whole, column], first[whole, column])
        np.testing.assert_allclose([statistic[column], p_value[column]], expected, rtol=1e-9)


def test_paired_dz_is_t_over_root_n_and_the_pooled_form_is_cohens(pairs):
    first, second = pairs
    t = stats.ttest_rel(second, first).statistic
    np.testing.assert_allclose(paired_dz(moments(first, second)), t / np.sqrt(len(first)))
    pooled = np.sqrt((first.var(axis=0, ddof=1) + second.var(axis=0, ddof=1)) / 2)
    np.testing.assert_allclose(pooled_d(moments(first, second)), (second - first).mean(axis=0) / pooled)


def test_counts_are_the_units_repeated(pairs, rng):
    first, second = pairs
    first[5, 2] = np.nan
    counts = rng.integers(0, 3, (3, len(first))).astype(float)
    resampled = moments(first, second, counts)
    for row, times in enumerate(counts.astype(int)):
        expected = moments(np.repeat(first, times, axis=0), np.repeat(second, times, axis=0))
        for name in ("n", "difference", "first_variance", "second_variance", "difference_variance"):
            np.testing.assert_allclose(getattr(resampled, name)[row], getattr(expected, name), rtol=1e-9)


def test_variances_keep_their_digits_far_from_zero(rng):
    first = rng.normal(0, 1, (50, 1))
    assert moments(first + 1e9, first + 1e9).first_variance == pytest.approx(first.var(ddof=1), rel=1e-5)


def test_one_pair_has_no_variance_and_no_p_value():
    single = moments(np.array([[1.0]]), np.array([[2.0]]))
    assert single.difference == 1
    assert np.isnan(paired_t(single)[1])
    assert np.isnan(paired_dz(single))


@pytest.mark.parametrize(("method", "name"), [("holm", "holm"), ("fdr", "fdr_bh")])
def test_corrections_equal_statsmodels_row_by_row(method, name, rng):
    p_values = rng.uniform(size=(20, 10)) ** 3
    expected = [multipletests(row, method=name)[1] for row in p_values]
    np.testing.assert_allclose(adjust(p_values, method), expected)


def test_a_missing_p_value_stays_missing_and_counts_in_its_family():
    assert adjust(np.array([0.01, np.nan]), "holm") == pytest.approx([0.02, np.nan], nan_ok=True)
    assert adjust(np.array([0.01, np.nan]), "none") == pytest.approx([0.01, np.nan], nan_ok=True)


def test_holm_holds_the_family_wise_error_where_no_correction_does_not(rng):
    p_values = stats.norm.sf(rng.normal(size=(4000, 10)))
    assert (p_values < 0.05).any(axis=1).mean() > 0.35
    assert (adjust(p_values, "holm") < 0.05).any(axis=1).mean() == pytest.approx(0.05, abs=0.012)


# Clustered samples


@pytest.fixture
def sample(rng):
    """Outcome, weight and cluster of 200 rows in 13 clusters of very unequal size."""
    cluster = rng.integers(0, 17, 200) ** 2 % 19
    return rng.normal(size=200) + np.sin(cluster), rng.uniform(0.2, 2, 200), cluster


def test_one_row_a_cluster_is_statsmodels_hc2(sample):
    outcome, weight, cluster = sample
    columns = np.column_stack([cluster, np.ones(200)])
    expected = sm.WLS(outcome, columns, weights=weight).fit(cov_type="HC2")
    found = coefficient(outcome, columns, weight, np.arange(200))
    assert (found.value, found.se) == pytest.approx((expected.params[0], expected.bse[0]), rel=1e-10)
    sums = cluster_sums(cluster, outcome * weight, weight)
    whole = sm.WLS(sums[:, 0] / sums[:, 1], np.ones(len(sums)), weights=sums[:, 1]).fit(cov_type="HC2")
    mean = ratio(outcome * weight, weight, cluster)
    assert (mean.value, mean.se) == pytest.approx((whole.params[0], whole.bse[0]), rel=1e-10)


def test_a_mean_is_the_regression_on_a_constant(sample):
    outcome, weight, cluster = sample
    mean = ratio(outcome * weight, weight, cluster)
    regression = coefficient(outcome, np.ones((200, 1)), weight, cluster)
    names = ("value", "se", "df", "low", "high", "n_clusters")
    assert [getattr(mean, name) for name in names] == pytest.approx([getattr(regression, name) for name in names])


def test_degrees_of_freedom_are_bell_and_mccaffreys_by_their_matrix(sample):
    outcome, weight, cluster = sample
    w = cluster_sums(cluster, weight)[:, 0]
    root = np.diag((1 - w / w.sum()) ** -0.5)
    b = root @ (np.diag(w) - np.outer(w, w) / w.sum()) @ root
    assert ratio(outcome, weight, cluster).df == pytest.approx(np.trace(b) ** 2 / np.trace(b @ b))


def test_equal_clusters_are_students_t(rng):
    means = rng.normal(3, 1, 12)
    result = ratio(np.repeat(means, 4), np.ones(48), np.repeat(np.arange(12), 4))
    interval = stats.ttest_1samp(means, 0).confidence_interval()
    assert (result.df, result.low, result.high) == pytest.approx((11, *interval))
    assert result.p_value(3) == pytest.approx(stats.ttest_1samp(means, 3).pvalue)


def test_jackknife_and_two_way_clusters_equal_pyfixest():
    """Its CRV3 has (G / (G - 1))^2 times the jackknife's variance."""
    data = json.loads((Path(__file__).parent / "stats_pyfixest.json").read_text())
    y, w, g = (np.array(data[name]) for name in "ywg")
    sums = cluster_sums(g, y * w, w)
    (mean,) = jackknife(lambda sums: sums[..., :1] / sums[..., 1:], sums)
    assert mean.se * len(sums) / (len(sums) - 1) == pytest.approx(data["se"]["y~1 CRV3 g"], rel=1e-9)
    one_way = [Inference(0.0, data["se"][f"y~1 CRV1 {name}"], 7.0, n_clusters=8) for name in ("g", "h", "cell")]
    first, second, both = one_way
    # Two-way where it is larger than either: pyfixest has no such floor.
    parts = {("g",): first, ("h",): second, ("g", "h"): both}
    assert crossed(parts).se == max(data["se"]["y~1 CRV1 g+h"], second.se)
    apart = crossed(parts | {("g", "h"): replace(both, se=0.1)})
    assert apart.se**2 == pytest.approx(first.se**2 + second.se**2 - 0.01)


def test_pyfixest_itself_where_it_is_installed():
    need("pyfixest")
    import pyfixest

    data = json.loads((Path(__file__).parent / "stats_pyfixest.json").read_text())
    frame = pd.DataFrame({name: data[name] for name in "yxwgh"})
    fit = pyfixest.feols("y~1", frame, vcov={"CRV3": "g"}, weights="w")
    assert float(fit.se().iloc[0]) == pytest.approx(data["se"]["y~1 CRV3 g"])


def test_what_other_columns_say_is_not_identified():
    columns = np.column_stack([np.ones(30), np.ones(30), np.arange(30)])
    result = coefficient(np.arange(30.0), columns, np.ones(30), np.arange(30) % 10)
    assert np.isnan(result.value)
    assert "not identified" in result.reason


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (ratio([1, 2, 3], [1, 1, 1], [0, 1, 2]), "3 clusters, 5 are needed"),
        (ratio([1] * 10, [1] * 10, range(10)), "the clusters do not differ"),
        (proportion([1] * 4, [1] * 4, range(4)), "4 clusters, 5 are needed"),
        (ratio([np.nan] * 9, [1] * 9, range(9)), "no value"),
        (jackknife(lambda sums: sums[..., :1] * 0, np.ones((9, 1)))[0], "the clusters do not differ"),
        # The first of two means is of one cluster alone.
        (mean_of_means([pd.Series([3.0]), pd.Series(np.arange(8.0))], [["a"], [*"abcdefgh"]]), NEEDED),
        (jackknife(lambda sums: sums[..., :1] / sums[..., 1:], np.eye(9, 2) + np.array([1, 0]))[0], NEEDED),
    ],
)
def test_no_interval_has_a_reason(result, reason):
    assert result.reason == reason
    assert np.isnan([result.low, result.high, result.p_value()]).all()


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1), (0, 2)])
def test_agreement_of_bounded_values_is_no_certainty(value, bounds):
    """No interval is of zero width, and none leaves its bounds."""
    result = ratio([value] * 20, [1.0] * 20, range(20), bounds)
    assert bounds[0] <= result.low < result.high <= bounds[1]
    assert result.low <= value <= result.high
    assert result.high - result.low > 0.1 * (bounds[1] - bounds[0])


def test_a_rate_of_nothing_is_bounded_by_the_clusters_not_by_the_rows():
    result = proportion(np.zeros(3000), np.ones(3000), np.arange(3000) % 30)
    assert (result.low, result.high) == pytest.approx((0, 1 - 0.025 ** (1 / 30)))


def test_a_common_share_in_nine_clusters_is_as_sure_as_its_standard_error_says():
    """As RuBia's 1,159 pairs of gender in nine subdomains, whose interval was once that of nine units: [30.8, 93.0]."""
    sizes = [301, 222, 160, 141, 120, 88, 62, 41, 24]
    shares = [0.68, 0.62, 0.74, 0.70, 0.66, 0.58, 0.77, 0.65, 0.71]
    hit = np.concatenate([np.arange(n) < round(p * n) for n, p in zip(sizes, shares, strict=True)])
    result = proportion(hit, np.ones(len(hit)), np.repeat(np.arange(9), sizes))
    expected = ratio(hit, np.ones(len(hit)), np.repeat(np.arange(9), sizes))
    assert result.high - result.low < 0.12
    assert result.high - result.low == pytest.approx(expected.high - expected.low, rel=0.1)
    assert result.low < hit.mean() < result.high


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (7, 7), (13, 40), (500, 58_492)])
def test_clopper_pearson_equals_statsmodels(successes, n):
    expected = proportion_confint(successes, n, 0.05, method="beta")
    np.testing.assert_allclose(clopper_pearson(successes, n), expected, rtol=1e-9, atol=1e-12)
    independent = proportion(np.arange(n) < successes, np.ones(n), np.arange(n))
    assert independent.low <= successes / n <= independent.high


def test_no_trials_have_no_interval():
    assert np.isnan(clopper_pearson(0, 0)).all()


def test_the_smaller_of_two_is_smaller_than_either():
    first, second = Inference(10, 1, 9, 8, 12, 10), Inference(11, 1, 9, 7, 15, 10)
    least = minimum(first, second)
    assert (least.value, least.low, least.high, least.n_clusters) == (10, 7, 12, 10)


WORLDS = 400


def _covered(truth, intervals):
    return np.mean([result.low <= truth <= result.high for result in intervals])


@pytest.mark.parametrize(("clusters", "least"), [(5, 0.91), (10, 0.92), (30, 0.93)])
def test_the_interval_of_a_mean_covers_from_five_unequal_clusters_on(clusters, least, rng):
    """400 worlds; nominal 0.95, Monte Carlo error 0.011."""
    results = []
    for _ in range(WORLDS):
        sizes = rng.poisson(6, clusters) + 1
        cluster = np.repeat(np.arange(clusters), sizes)
        rows = rng.normal(size=sizes.sum()) + rng.normal(0, 0.7, clusters)[cluster]
        results.append(ratio(rows, np.ones(len(rows)), cluster))
    assert least < _covered(0, results) < 0.985


@pytest.mark.parametrize("clusters", [12, 30, 200])
def test_the_interval_of_a_rare_rate_covers(clusters, rng):
    """One template in fifty is affected, in all of its twenty instances, half a percent of the others by chance."""
    results = []
    for _ in range(WORLDS):
        affected = rng.random(clusters) < 0.02
        cluster = np.repeat(np.arange(clusters), 20)
        hit = np.where(affected[cluster], 1.0, rng.random(len(cluster)) < 0.005)
        results.append(proportion(hit, np.ones(len(hit)), cluster))
    assert _covered(0.02 + 0.98 * 0.005, results) > 0.93


@pytest.mark.parametrize(
    ("clusters", "rate", "correlation"), [(6, 0.69, 0.3), (6, 0.69, 0.0), (12, 0.2, 0.3), (12, 0.5, 0.0)]
)
def test_the_interval_of_a_rate_in_the_middle_covers_and_is_no_wider_than_a_mean_s(clusters, rate, correlation, rng):
    """Forty items a cluster. The interval at one unit a cluster was up to five times as wide."""
    results, widths = [], []
    for _ in range(WORLDS):
        a, b = (share * (1 / correlation - 1) if correlation else np.inf for share in (rate, 1 - rate))
        chance = rng.beta(a, b, clusters) if correlation else np.full(clusters, rate)
        cluster = np.repeat(np.arange(clusters), 40)
        hit = (rng.random(len(cluster)) < chance[cluster]).astype(float)
        results.append(proportion(hit, np.ones(len(hit)), cluster))
        mean = ratio(hit, np.ones(len(hit)), cluster)
        widths.append((results[-1].high - results[-1].low) / (mean.high - mean.low) if mean.se > 0 else 1.0)
    assert _covered(rate, results) > 0.92
    assert np.median(widths) < 1.3


def test_two_crossed_factors_cover_where_one_does_not(rng):
    first, second = (part.ravel() for part in np.indices((25, 25)))
    alone, together = [], []
    for _ in range(WORLDS // 2):
        rows = rng.normal(size=625) + rng.normal(size=25)[first] + rng.normal(size=25)[second]
        made = crossed_replicates(partial(ratio_replicates, rows, np.ones(625)), {"first": first, "second": second})
        alone.append(ratio(rows, np.ones(625), first))
        together.append(made.inference())
    assert _covered(0, together) > 0.91
    assert _covered(0, alone) < 0.88


def test_of_a_tiny_part_of_a_success_the_lower_limit_is_none():
    """Probabilities put 1e-6 of an answer on no option: its limit was once 2.2e-308."""
    low, high = clopper_pearson(1e-6, 40)
    assert low == 0 and high == pytest.approx(clopper_pearson(0, 40)[1], rel=1e-4)
