"""Estimates with what they are without each cluster, checked against the intervals of the tables; tests among many."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest

from biasatlas.stats.clusters import ratio
from biasatlas.stats.multiplicity import hierarchical, simes
from biasatlas.stats.regression import coefficient, coefficient_replicates
from biasatlas.stats.replicates import crossed_replicates, ratio_replicates, replicates

RNG = np.random.default_rng(1)
CLUSTERS = np.repeat([f"c{n}" for n in range(12)], RNG.integers(1, 9, 12))
TOP, BOTTOM = RNG.normal(1, 1, len(CLUSTERS)), RNG.uniform(0.5, 2, len(CLUSTERS))


def test_a_ratio_has_the_interval_of_the_tables():
    expected = ratio(TOP, BOTTOM, CLUSTERS)
    found = ratio_replicates(TOP, BOTTOM, CLUSTERS).inference()
    assert [found.value, found.se, found.df] == pytest.approx([expected.value, expected.se, expected.df])


def test_any_other_function_has_the_jackknife_of_scipy_s_kind():
    sums = RNG.normal(3, 1, (9, 2))
    made = replicates(lambda total: (total[..., 0] / total[..., 1])[..., None], sums, list("abcdefghi"))
    without = np.array([(sums[:, 0].sum() - a) / (sums[:, 1].sum() - b) for a, b in sums])
    variance = 8 / 9 * ((without - sums[:, 0].sum() / sums[:, 1].sum()) ** 2).sum()
    assert made.inference().se == pytest.approx(np.sqrt(variance))
    assert made.inference().df == pytest.approx(8)


def test_a_coefficient_has_the_same_interval_as_replicates():
    x = np.column_stack([np.ones(len(TOP)), BOTTOM])
    made, whole = coefficient_replicates(TOP, x, BOTTOM, CLUSTERS), coefficient(TOP, x, BOTTOM, CLUSTERS)
    assert made.value == pytest.approx(whole.value)
    found = made.inference()
    assert [found.se, found.df, found.low, found.high] == pytest.approx([whole.se, whole.df, whole.low, whole.high])
    left = CLUSTERS != "c3"
    moved = coefficient(TOP[left], x[left], BOTTOM[left], CLUSTERS[left]).value - whole.value
    assert (made.without["c3"] - made.value) / moved == pytest.approx(1, abs=0.2)


def test_three_crossed_factors_add_and_take_off_what_their_cells_share():
    rows = RNG.normal(size=(6, 7, 8))
    rows += sum(RNG.normal(size=shape) for shape in ((6, 1, 1), (1, 7, 1), (1, 1, 8)))
    labels = dict(zip("abc", (part.ravel() for part in np.indices(rows.shape)), strict=True))
    made = crossed_replicates(lambda clusters: ratio_replicates(rows.ravel(), np.ones(rows.size), clusters), labels)
    variance = {names: part.inference().se ** 2 for names, part in made.by.items()}
    expected = sum(part if len(names) % 2 else -part for names, part in variance.items())
    assert len(variance) == 7
    assert made.inference().se ** 2 == pytest.approx(expected)
    assert made.factors == {"a": 6, "b": 7, "c": 8}
    assert made.minus(made).inference().reason
    assert made.times(100).inference().se == pytest.approx(100 * made.inference().se)


def test_crossed_clusters_are_what_they_are_of_whatever_the_order_of_rows():
    values, labels = RNG.normal(size=60), {"a": np.arange(60) % 5, "b": np.arange(60) // 12}
    order = RNG.permutation(60)

    def made(scale, rows):
        y = values[rows] ** scale
        return crossed_replicates(
            lambda clusters: ratio_replicates(y, np.ones(60), clusters),
            {name: each[rows] for name, each in labels.items()},
        )

    one, again, other = made(1, np.arange(60)), made(2, np.arange(60)), made(2, order)
    assert one.minus(other).inference().se == pytest.approx(one.minus(again).inference().se)


def test_the_difference_of_two_ratios_is_the_ratio_of_differences():
    other = TOP + RNG.normal(0.3, 0.1, len(TOP))
    paired = ratio_replicates(TOP, BOTTOM, CLUSTERS).minus(ratio_replicates(other, BOTTOM, CLUSTERS)).inference()
    expected = ratio(TOP - other, BOTTOM, CLUSTERS)
    assert [paired.value, paired.se, paired.df] == pytest.approx([expected.value, expected.se, expected.df])


def test_estimates_of_other_clusters_are_not_compared():
    some = CLUSTERS != "c3"
    with pytest.raises(ValueError, match="different clusters"):
        ratio_replicates(TOP, BOTTOM, CLUSTERS).minus(ratio_replicates(TOP[some], BOTTOM[some], CLUSTERS[some]))


@pytest.mark.parametrize(("p_values", "expected"), [([0.01, 0.5], 0.02), ([0.03, 0.04], 0.04), ([], np.nan)])
def test_simes(p_values, expected):
    assert simes(np.array(p_values)) == pytest.approx(expected, nan_ok=True)


def test_members_of_a_family_are_found_at_its_share_of_the_level():
    """Two families: p .001 and .04 in one, nothing in the other; one of two survives, so q is twice BH's."""
    p_values = pd.Series([0.001, 0.04, 0.6, 0.7, np.nan])
    found = hierarchical(p_values, pd.Series(list("aabbb")))
    assert found["family_p_adjusted"].tolist()[:3] == pytest.approx([0.004, 0.004, 0.7])
    assert found["q_value"].tolist() == pytest.approx([0.004, 0.08, 1.0, 1.0, np.nan], nan_ok=True)
    assert found["found"].tolist() == [True, False, False, False, False]


def test_what_stands_beside_a_family_is_looked_at_alone_and_only_where_it_survives():
    """As above; the two last stand beside: p .01 beside the family that survives, .001 beside the other."""
    p_values = pd.Series([0.001, 0.04, 0.6, 0.7, 0.01, 0.001])
    member = pd.Series([True] * 4 + [False] * 2)
    found = hierarchical(p_values, pd.Series(list("aabbab")), member)
    assert found["family_p_adjusted"].tolist() == pytest.approx([0.004, 0.004, 0.7, 0.7, 0.004, 0.7])
    assert found["q_value"].tolist()[4:] == pytest.approx([0.02, 0.002])
    assert found["found"].tolist() == [True, False, False, False, True, False]


def test_without_any_effect_at_most_five_runs_in_a_hundred_find_something():
    """Six families of ten tests that share items (correlation 0.3), 400 runs."""
    rng = np.random.default_rng(5)
    family = pd.Series(np.repeat(np.arange(6), 10))
    runs = 400
    z = np.sqrt(0.7) * rng.normal(size=(runs, 60)) + np.sqrt(0.3) * rng.normal(size=(runs, 6)).repeat(10, axis=1)
    any_found = sum(hierarchical(pd.Series(2 * ndtr(-abs(row))), family)["found"].any() for row in z)
    assert binomtest(int(any_found), runs, 0.05, alternative="greater").pvalue > 0.01
