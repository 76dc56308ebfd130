"""P-values without draws, against drawn and enumerated ones."""

import itertools

import numpy as np
import pytest

from biasatlas.stats.tests import flip_p, signed_blocks


def block(weights):
    """The sum of w_a w_b s_a s_b over pairs, for every sign vector with s_1 = 1."""
    pairs = list(itertools.combinations(range(len(weights)), 2))
    signs = [(1, *rest) for rest in itertools.product((1, -1), repeat=len(weights) - 1)]
    return [sum(weights[a] * weights[b] * s[a] * s[b] for a, b in pairs) for s in signs]


@pytest.mark.parametrize(("shift", "templates"), [(0.0, 12), (0.2, 12), (0.4, 30), (0.6, 12)])
def test_as_drawn(shift, templates):
    rng = np.random.default_rng(7)
    values = np.array([block(weights) for weights in rng.normal(size=(templates, 4)) + shift * rng.choice((-1, 1), 4)])
    drawn = rng.integers(0, values.shape[1], (100_000, templates))
    sums = values[np.arange(templates), drawn].sum(axis=1)
    share = (sums >= values[:, 0].sum() - 1e-12).mean()
    assert flip_p(values) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 1e5) + 0.003)


def test_the_largest_sum_has_its_exact_p_value():
    values = np.array([block([1, 1, 2])] * 3)
    assert flip_p(values) == pytest.approx((1 / 4) ** 3)


def test_far_tails_are_told_apart():
    rng = np.random.default_rng(1)
    values = np.array([block(rng.normal(0.35, 1, 4)) for _ in range(1547)])
    assert 0 < flip_p(values) < 1e-9


def test_nothing_that_varies_is_no_evidence():
    assert flip_p(np.zeros((5, 4))) == 1.0


def test_blocks_are_what_shares_signs():
    weights = [np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0])]
    products, first, second = [], [], []
    for start, block_weights in ((0, weights[0]), (3, weights[1])):
        for a, b in itertools.combinations(range(len(block_weights)), 2):
            products.append(block_weights[a] * block_weights[b])
            first.append(start + a)
            second.append(start + b)
    sums = signed_blocks(np.array(products), np.array(first), np.array(second))
    for row, own in zip(sums, weights, strict=True):
        assert row[0] == pytest.approx(block(own)[0])
        assert sorted(row) == pytest.approx(sorted(block(own) * (4 // 2 ** (len(own) - 1))))


def test_level_and_what_agrees():
    rng = np.random.default_rng(3)
    first, second = np.arange(40), np.arange(40, 80)
    p_values = [flip_p(signed_blocks(w[:, 0] * w[:, 1], first, second)) for w in rng.normal(size=(400, 40, 2))]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.03)
    assert flip_p(signed_blocks(np.ones(40), first, second)) == pytest.approx(0.5**40)
