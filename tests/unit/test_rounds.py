"""Asking in rounds: the order of the items, and what may be said after each round."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr, ndtri

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.order import asking_order
from biasatlas.stats.rounds import Look, level, levels, repeated_p


def _pocock(share):
    return math.log(1 + (math.e - 1) * share)


def _obrien_fleming(share):
    return 4 * ndtr(-ndtri(1 - 0.0125) / math.sqrt(share)) / 0.05


@pytest.mark.parametrize(
    ("spent", "printed"),
    [
        # Lan and DeMets (1983) and the tables of Reboussin, DeMets, Kim and Lan (2000): five equal looks, 5 % two-sided.
        (_pocock, [2.438, 2.427, 2.410, 2.397, 2.386]),
        (_obrien_fleming, [4.877, 3.357, 2.680, 2.290, 2.031]),
    ],
)
def test_boundaries_are_the_printed_ones(spent, printed):
    found = levels([Look(k / 5, k) for k in range(1, 6)], 0.05, spent)
    assert [-ndtri(each / 2) for each in found] == pytest.approx(printed, abs=6e-4)


def test_one_look_at_everything_is_an_ordinary_test():
    assert levels([Look(1.0, 3.0)], 0.05) == pytest.approx([0.05])
    assert level([], 0.05) == 0.05
    assert repeated_p([], 0.03) == 0.03
    assert repeated_p([Look(1.0, 3.0)], 0.03) == pytest.approx(0.03)


def test_null_models_are_called_biased_in_the_spent_share_alone():
    rng, shares = np.random.default_rng(3), [2.0**-k for k in range(5, -1, -1)]
    looks = [Look(share, 20 * share) for share in shares]
    bounds = -ndtri(np.array(levels(looks, 0.05)) / 2)
    steps = rng.normal(size=(40_000, len(looks))) * np.sqrt(np.diff([0.0, *(look.information for look in looks)]))
    z = steps.cumsum(axis=1) / np.sqrt([look.information for look in looks])
    crossed = (abs(z) > bounds).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=0.004)
    assert (abs(z) > 1.96).any(axis=1).mean() > 0.12  # what plain intervals would do


@pytest.mark.parametrize("p", [1e-9, 0.001, 0.02, 0.3])
def test_a_repeated_p_value_is_the_total_error_of_which_p_is_the_level(p):
    looks = [Look(1 / 8, 1.0), Look(1 / 4, 1.5), Look(1 / 2, 1.4), Look(1.0, 3.0)]
    total = repeated_p(looks, p)
    assert total >= p
    assert level(looks, total) == pytest.approx(p, rel=1e-2)


def test_a_p_value_beyond_any_level_is_1():
    assert repeated_p([Look(1 / 8, 1.0), Look(1 / 4, 2.0)], 0.9) == 1.0


def _items():
    rows = [
        (f"{template}-{k}", template, "ambig" if k % 2 else "disambig", k)
        for template, n in (("a", 32), ("b", 8), ("c", 200))
        for k in range(n)
    ]
    return pd.DataFrame(rows, columns=["item_id", "template", "condition", "context"])


def test_every_first_part_has_its_share_of_every_cluster_and_form():
    items, design = _items(), registry.load_spec("bbq").design
    order = asking_order(items, design)
    assert sorted(order) == sorted(items["item_id"])
    for share in (1 / 4, 1 / 2, 3 / 4):
        asked = items[items["item_id"].isin(order[: round(share * len(order))])]
        for keys in (["template"], ["template", "condition"]):
            got = asked.groupby(keys).size().reindex(items.groupby(keys).size().index, fill_value=0)
            assert (got - share * items.groupby(keys).size()).abs().max() <= 1.5


def test_an_order_is_of_names_and_a_seed_alone():
    items, design = _items(), registry.load_spec("bbq").design
    order = asking_order(items, design)
    assert asking_order(items.sample(frac=1, random_state=2), design) == order
    assert asking_order(items, design, seed=2) != order
