"""The statistics library against scipy, statsmodels and simulation."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from biasatlas.stats.corrections import adjust
from biasatlas.stats.effects import cohen_d, paired_dz, pooled_d
from biasatlas.stats.intervals import percentile, resample_counts, wilson
from biasatlas.stats.moments import moments
from biasatlas.stats.tests import independent_t, paired_t

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
    np.testing.assert_allclose(pooled_d(moments(first, second)), cohen_d(first, second, axis=0))


def test_cohen_d_equals_statsmodels(rng):
    first, second = rng.normal(0, 1, 25), rng.normal(0.4, 2, 40)
    # That of statsmodels is Hedges' g: d times the approximate factor that removes its bias.
    g, _ = effectsize_smd(second.mean(), second.std(ddof=1), 40, first.mean(), first.std(ddof=1), 25)
    assert cohen_d(first, second) * (1 - 3 / (4 * 65 - 9)) == pytest.approx(g, rel=1e-12)


def test_a_resample_is_the_units_repeated(pairs):
    first, second = pairs
    first[5, 2] = np.nan
    counts = resample_counts(len(first), resamples=3)
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


@pytest.mark.parametrize("share", [0.02, 0.1, 0.37, 0.5, 0.93])
def test_the_interval_of_a_share_covers(share):
    n = 40
    probability = stats.binom.pmf(np.arange(n + 1), n, share)
    cover = sum(weight for successes, weight in enumerate(probability) if _inside(share, wilson(successes, n)))
    assert cover > 0.92


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 40), (40, 40), (13, 40), (2.7, 11.3), (500, 58_492)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_equals_statsmodels(successes, n, confidence):
    expected = proportion_confint(successes, n, 1 - confidence, method="wilson")
    np.testing.assert_allclose(wilson(successes, n, confidence), expected, rtol=1e-12, atol=1e-15)


def _inside(value, interval):
    return interval[0] <= value <= interval[1]


def test_the_interval_of_no_trials_is_missing():
    assert np.isnan(wilson(0, 0)).all()


def test_the_bootstrap_covers_an_effect_size(rng):
    """Nominal 0.95; a percentile interval of 60 units falls a little short."""
    simulations = 400
    first = rng.normal(0, 1, (60, simulations))
    second = first + rng.normal(0.5, 1, (60, simulations))
    low, high = percentile(paired_dz(moments(first, second, resample_counts(60))))
    assert np.mean((low <= 0.5) & (high >= 0.5)) == pytest.approx(0.94, abs=0.03)


def test_resamples_are_whole_and_repeatable():
    counts = resample_counts(12, resamples=50)
    assert (counts.sum(axis=1) == 12).all()
    assert (counts == resample_counts(12, resamples=50)).all()
    assert (counts != resample_counts(12, resamples=50, seed=1)).any()


def test_undefined_resamples_are_left_out_of_an_interval():
    estimates = np.array([[1.0, np.nan], [3.0, np.inf], [np.nan, np.nan]])
    low, high = percentile(estimates, confidence=1)
    assert (low[0], high[0]) == (1, 3)
    assert np.isnan([low[1], high[1]]).all()
