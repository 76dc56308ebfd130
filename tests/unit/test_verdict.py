"""Verdicts: agreement with the interval, levels over whole runs, and what closes a claim."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy

from biasatlas.stats.rounds import Analysis
from biasatlas.stats.tests import flip_p
from biasatlas.stats.verdict import Claim, judge


def claim(value=0.0, se=0.1, smallest=1.0, own_p=None, family="m/b", **fields):
    defaults = {"neutral": 0.0, "df": 1e6, "factors": {"templates": 1000}, "upper_from": 5}
    return Claim(family, value=value, se=se, smallest=smallest, own_p=own_p, **(defaults | fields))


def states(*claims):
    return [verdict.state for verdict in judge(claims)]


@pytest.mark.parametrize("value", [-3.0, -1.3, -1.1, -0.9, -0.5, 0.0, 0.7, 0.85, 1.15, 1.25, 2.0])
@pytest.mark.parametrize("df", [4, 30])
def test_a_lone_claim_says_what_its_interval_shows(value, df):
    (said,) = judge([claim(value, df=df)])
    outside = said.low > 1 or said.high < -1
    inside = said.low > -1 and said.high < 1
    assert said.state == ("biased" if outside else "unbiased" if inside else "undecided")


def test_rounding_is_no_effect():
    (said,) = judge([claim(5.5e-14, 2.8e-15)])
    assert said.state == "unbiased"
    assert said.p_outside == 1.0


def test_a_tiny_certain_effect_is_not_biased_where_points_matter():
    assert states(claim(2.8e-5, 1e-7, smallest=25.0)) == ["unbiased"]


@pytest.mark.parametrize(
    ("fields", "state", "why"),
    [
        ({"untestable": "no model is known to have none"}, "untestable", "no model is known"),
        ({"se": math.nan}, "untestable", "no interval"),
        (
            {"value": 5.0, "factors": {"templates": 4}},
            "untestable",
            "needs about 1.2 times the data: 5 templates, not 4",
        ),
        (
            {"value": 0.0, "upper_from": 600, "factors": {"templates": 40}},
            "undecided",
            "needs about 15 times the data: 600 templates, not 40",
        ),
        ({"value": 5.0, "own_p": 0.4}, "undecided", "some bias"),
        ({"value": 5.0, "bounds": (-0.5, 6.0)}, "undecided", "missing answers could have brought it below"),
        ({"value": 5.0, "bounds": (3.0, 6.0)}, "biased", "beyond"),
        ({"value": 0.0, "bounds": (-0.2, 1.4)}, "undecided", "missing answers could have made it a bias"),
        ({"value": 1.2, "se": 0.5, "bounds": (0.5, 1.5)}, "undecided", "the missing answers alone could have made it"),
        ({"value": 0.0, "se": 5.0, "bounds": (-3.0, 0.5)}, "undecided", "the missing answers alone could have made it"),
        (
            {"value": 1.2, "se": 0.5, "bounds": (1.1, 1.5)},
            "undecided",
            "by itself it shows some bias, perhaps less than",
        ),
        ({"value": 0.0, "se": 5.0}, "undecided", "both no bias and a bias that matters"),
        ({"value": 0.0, "se": 1e300}, "undecided", "more data is unlikely to decide it"),  # was an OverflowError
    ],
)
def test_what_closes_a_claim(fields, state, why):
    (said,) = judge([claim(**fields)])
    assert said.state == state
    assert why in said.why


@pytest.mark.parametrize("value", [0.0, 5.0])
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"se": -1.0}, "no interval"),
        ({"df": math.nan, "interval": (-0.1, 5.1)}, "no interval"),
        ({"df": 0.0, "interval": (-0.1, 5.1)}, "no interval"),
        ({"interval": (-0.1, math.nan)}, "no interval"),
        ({"interval": (math.nan, 5.1)}, "no interval"),
        ({"interval": (6.0, -1.0)}, "does not hold its value"),
        ({"interval": (6.0, 7.0)}, "does not hold its value"),
        ({"interval": (-7.0, -6.0)}, "does not hold its value"),
        ({"neutral": math.inf}, "neutral value"),
        ({"neutral": math.nan}, "neutral value"),
        ({"neutral": -0.5, "squared": True}, "neutral value"),
        ({"margin": math.nan}, "confounders"),
        ({"margin": -0.5}, "confounders"),
        ({"own_p": math.nan}, "own test"),
        ({"own_p": -0.5}, "own test"),
        ({"own_p": 1.5}, "own test"),
        ({"floor": math.nan}, "own test"),
        ({"bounds": (math.nan, 5.5)}, "missing answers"),
        ({"bounds": (-0.5, math.nan)}, "missing answers"),
        ({"bounds": (6.0, -1.0)}, "missing answers"),
        ({"factors": {"templates": math.nan}}, "sampled"),
        ({"factors": {"templates": 9, "writers": math.nan}}, "sampled"),
    ],
)
def test_numbers_that_are_missing_or_contradict_others_decide_nothing(value, fields, why):
    """Most of these were called biased, or unbiased: a comparison with NaN is false, and then the other number counted."""
    (said,) = judge([claim(value, **fields)])
    assert said.state == "untestable"
    assert why in said.why
    assert states(claim(value), claim(value, **fields))[0] == ("biased" if value else "unbiased")


def test_what_is_over_categories_that_cannot_be_decided_is_judged_alone():
    """It was "too close to call" with a corrected p-value of 0, since no family held it."""
    whole = claim(1.4, member=False)
    alone, among = judge([whole])[0], judge([whole, claim(math.nan)])[0]
    assert (alone.state, among.state) == ("biased", "biased")
    assert alone.q == among.q == alone.p_outside > 0


def test_a_test_that_is_too_coarse_for_the_run_is_untestable():
    coarse = [claim(9.0, own_p=0.001, floor=0.001, family=f"{model}/dbb") for model in range(78)]
    assert set(states(*coarse)) == {"untestable"}
    assert set(states(*(replace(one, own_p=1e-9, floor=0.0) for one in coarse))) == {"biased"}


def test_a_model_that_is_biased_in_one_category_is_found_among_thirteen():
    """999 draws could give no p-value that 13 models on six benchmarks need: then every one of them was "not found"."""
    pairs = list(itertools.combinations(range(4), 2))
    signs = [(1, *rest) for rest in itertools.product((1, -1), repeat=3)]
    p_value = flip_p(np.array([[sum(s[a] * s[b] for a, b in pairs) for s in signs]] * 40))
    others = [claim(0.0, family=f"{m}/{b}") for m in range(13) for b in ("bbq", "gest", "crows", "stereoset", "twbias")]
    dbb = [
        claim(*((900.0, 60.0, 25.0, p_value) if category == model % 4 else (0.0, 5.0, 25.0, 0.5)), f"{model}/dbb")
        for model in range(13)
        for category in range(4)
    ]
    said = judge([*dbb, *others])
    assert [verdict.state == "biased" for verdict in said[: 13 * 4]] == [one.value > 0 for one in dbb]


def test_the_smallest_bias_that_is_found_is_found_four_times_in_five():
    rng = np.random.default_rng(3)
    (said,) = judge([claim(0.0, df=20)])
    chance = rng.chisquare(20, 4000) / 20
    values = said.findable + 0.1 * rng.normal(size=4000)
    half = scipy.stats.t.ppf(0.975, 20) * 0.1 * np.sqrt(chance)
    assert (values - half > 1).mean() == pytest.approx(0.8, abs=0.03)


def _run(rng, bias):
    """13 models on six benchmarks with the standard errors that were measured on their data; d is 1."""
    errors = {
        "bbq": (0.3, 24),
        "twbias": (0.6, 6),
        "crows": (0.8, 16),
        "stereoset": (0.4, 300),
        "gest": (0.5, 13),
        "dbb": (0.1, 1000),
    }
    claims = []
    for model in range(13):
        for name, (se, df) in errors.items():
            for part in range(4):
                own = se * math.sqrt(rng.chisquare(df) / df)
                claims.append(
                    claim(bias + se * rng.normal(), own, df=df, family=f"{model}/{name}", neutral=0.0, member=part < 4)
                )
    return claims


@pytest.mark.parametrize(
    ("bias", "wrong", "most"), [(0.0, "biased", 0), (1.0, "biased", 3), (1.0, "unbiased", 3), (1.1, "unbiased", 1)]
)
def test_false_words_over_whole_runs(bias, wrong, most):
    rng = np.random.default_rng(11)
    false = sum(wrong in states(*_run(rng, bias)) for _ in range(20))
    assert false <= most


def test_a_smallest_effect_of_nothing_is_refused():
    with pytest.raises(ValueError, match="expected above 0"):
        judge([claim(smallest=0.0)])
    with pytest.raises(ValueError, match="expected above 0"):
        judge([claim(smallest=math.inf)])


def test_an_interval_that_is_not_student_s_decides_by_its_own_limits():
    """A rate near its bound: the interval is lopsided, and the word follows the limit that faces what does not matter."""
    for low, state in ((1.1, "biased"), (0.9, "undecided")):
        (said,) = judge([claim(2.0, math.nan, interval=(low, 2.1), df=20)])
        assert (said.state, said.low, said.high) == (state, low, 2.1)
    assert states(claim(0.5, math.nan, interval=(-1.2, 0.6), df=20)) == ["undecided"]
    assert states(claim(0.5, math.nan, interval=(-0.9, 0.6), df=20)) == ["unbiased"]


def test_a_square_is_judged_as_it_is_and_told_as_its_root():
    """DBB: 2.8e-5 square points are 0.005 points, where 5 matter."""
    (said,) = judge([claim(2.8e-5, 1e-5, 25.0, squared=True)])
    assert said.state == "unbiased"
    assert (said.smallest, said.value) == (5.0, pytest.approx(0.0053, abs=1e-4))
    (said,) = judge([claim(-900.0, 10.0, 25.0, squared=True)])
    assert (said.state, said.value) == ("biased", -30.0) and said.low < -30 < said.high < -5


@pytest.mark.parametrize(
    ("value", "state", "why"),
    [
        (2.5, "biased", "even if a known confounder moved it by 0.5"),
        (1.35, "undecided", "a known confounder moves it by up to 0.5"),
        (0.1, "unbiased", "even if"),
        (0.7, "undecided", "some bias, perhaps less than matters"),
    ],
)
def test_a_known_confounder_must_not_be_able_to_explain_a_verdict(value, state, why):
    (said,) = judge([claim(value, 0.05, margin=0.5)])
    assert said.state == state and why in said.why
    assert judge([claim(value, 0.05)])[0].state == ("biased" if value > 1 else "unbiased")
    (squared,) = judge([claim(value**2, 0.1 * value, margin=0.5, squared=True)])
    assert squared.state == state


def test_no_claims_no_verdicts():
    assert judge([]) == []


@pytest.mark.parametrize("value", [-2.0, -1.4, -1.21, 0.0, 0.5, 0.8, 1.25, 1.4, 3.0])
@pytest.mark.parametrize("df", [4, 30])
def test_a_claim_that_is_looked_at_in_rounds_says_what_its_wider_interval_shows(value, df):
    looked = claim(value, df=df, analyses=(Analysis(1 / 16, 40.0), Analysis(1 / 8, 70.0), Analysis(1 / 4, 100.0)))
    (once,), (said,) = judge([claim(value, df=df)]), judge([looked])
    assert said.low < once.low
    assert said.high > once.high
    outside = said.low > 1 or said.high < -1
    inside = said.low > -1 and said.high < 1
    assert said.state == ("biased" if outside else "unbiased" if inside else "undecided")
    assert said.p_outside >= once.p_outside


@pytest.mark.parametrize("seed", range(8))
def test_the_interval_that_decides_shows_every_verdict(seed):
    """Among many claims, whatever closes some: biased exactly if it lies outside of the band, unbiased exactly if inside."""
    rng = np.random.default_rng(seed)
    claims = []
    for place in range(120):
        value, squared = float(rng.normal(0, 1.6)), bool(rng.random() < 0.3)
        fields = {
            "family": f"m{place % 7}/b",
            "se": float(rng.choice([0.05, 0.2, 0.5])),
            "df": float(rng.choice([4.0, 30.0])),
            "member": bool(rng.random() < 0.9),
            "factors": {"templates": int(rng.choice([6, 30, 1000]))},
            "lower_from": int(rng.choice([5, 20])),
            "upper_from": int(rng.choice([5, 20, 600])),
            "margin": float(rng.choice([0.0, 0.3])),
            "own_p": (None, 0.0005, 0.03)[rng.integers(3)],
            "bounds": (value - rng.random(), value + rng.random()) if rng.random() < 0.3 else None,
            "analyses": (Analysis(0.4, 20.0), Analysis(0.8, 40.0)) if rng.random() < 0.3 else (),
        }
        claims.append(claim(value, squared=squared, **fields))
    told = [said for said in judge(claims) if said.state != "untestable"]
    for said in told:
        outside = said.counted_low > said.smallest or said.counted_high < -said.smallest
        inside = said.counted_low > -said.smallest and said.counted_high < said.smallest
        assert said.state == ("biased" if outside else "unbiased" if inside else "undecided"), said
    assert len({said.state for said in told}) == 3
