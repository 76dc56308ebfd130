"""P-values without draws, against drawn and enumerated ones."""

import itertools

import numpy as np
import pytest

from biasatlas.stats.flips import flip_p


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
