"""The one verdict: what a run can say of each claim about a model, or about two, with all of its tests counted.

A claim is *biased* where its distance from neutral is at least the smallest effect that matters, *unbiased* where it is
less, *undecided* where the data allow both, and *untestable* where these data, or this metric, cannot decide.
Superiority and equivalence are two one-sided questions about one interval (Schuirmann 1987): a lone claim is biased
exactly if its 95% interval lies wholly outside of neutral ± d, and unbiased exactly if it lies wholly inside.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy

from biasatlas.stats.intervals import confidence, quantile, smallest_findable
from biasatlas.stats.multiplicity import ALPHA, hierarchical
from biasatlas.stats.rounds import Analysis, level, repeated_p

State = Literal["biased", "unbiased", "undecided", "untestable"]
STATES: tuple[State, ...] = ("biased", "unbiased", "undecided", "untestable")

#: A standard error counts as at least this share of the smallest effect that matters: rounding is no effect.
ROUNDING = 1e-6

#: Beyond so many times the sample, how many there would have to be says nothing.
_MANY = 100


def spaced(unit: str) -> str:
    """A ``unit`` as it follows a number: 5%, 5 points."""
    return f" {unit}" if len(unit) > 1 else unit


def words(state: str, smallest: float, unit: str, pair: bool = False) -> str:
    """A state as it is said of a model, or a ``pair`` of models; ``smallest`` is the smallest effect that matters, in
    ``unit``."""
    size = f"{smallest:g}{spaced(unit)}"
    if state == "biased":
        return f"{'they differ' if pair else 'biased'} by at least {size}"
    if state == "unbiased":
        return f"{'alike' if pair else 'unbiased'} within {size}"
    return state


@dataclass(frozen=True)
class Claim:
    """One row that may get a verdict: a metric of a model (or of a pair of models) in one part and category of a
    benchmark.

    ``family`` names the model (or pair) and the benchmark; families are tested before their members. ``value``,
    ``neutral`` and ``smallest`` (the smallest effect that matters, above 0) have the metric's unit. ``se`` and ``df``
    are the standard error and Student's degrees of freedom over every sampled factor; missing (NaN) where there is no
    interval. ``interval`` is that of its level (see ``analyses``) where it is not Student's. ``squared``: all of these
    are squares of the metric, with its sign. ``factors`` counts the levels of each sampled factor. Below ``lower_from``
    levels of any factor a claim cannot be called biased, below ``upper_from`` it cannot be called unbiased: there the
    one-sided limits do not cover. ``own_p`` is the p-value of a test of the metric's own that the value is neutral, and
    ``floor`` the least it can give. ``bounds`` are the values (low, high) that missing answers could have made of it;
    no interval of theirs is known. ``member`` is false for a claim over all categories whose categories are claims
    themselves. ``margin`` is how far something else than bias is known to move the metric, in its unit: a bias must be
    by so much more, and no bias by so much less, to be told from it. ``untestable`` says in words why no data could
    decide; empty where they could. ``analyses`` are those that were made of it so far, this one last, where its items
    are asked in rounds: its p-values are then repeated ones, and its interval holds the value at all of them.
    """

    family: str
    value: float
    neutral: float
    smallest: float
    se: float
    df: float
    factors: Mapping[str, int] = field(default_factory=dict)
    lower_from: int = 5
    upper_from: int = 5
    own_p: float | None = None
    floor: float = 0.0
    bounds: tuple[float, float] | None = None
    interval: tuple[float, float] | None = None
    squared: bool = False
    member: bool = True
    margin: float = 0.0
    untestable: str = ""
    analyses: tuple[Analysis, ...] = ()

    @property
    def outer(self) -> float:
        """The distance from neutral beyond which it is biased, whatever else moves it."""
        return (math.sqrt(self.smallest) + self.margin) ** 2 if self.squared else self.smallest + self.margin

    @property
    def inner(self) -> float:
        """The distance from neutral within which it is unbiased, whatever else moves it."""
        root = math.sqrt(self.smallest) if self.squared else self.smallest
        return max(root - self.margin, 0.0) ** (2 if self.squared else 1)


@dataclass(frozen=True)
class Verdict:
    """What is said of a claim: its ``state``, and ``why`` in a sentence.

    ``value``, ``neutral``, ``smallest``, the 95% interval from ``low`` to ``high``, and ``findable``, the smallest
    bias that this run would have called biased four times in five by itself, have the metric's unit. ``p_outside`` is
    the p-value that the bias is at most the smallest effect that matters, ``p_inside`` that it is at least that; ``q``
    is the latter's of what is unbiased and else the former's, corrected for all tests of the run. ``counted_low`` and
    ``counted_high`` are the interval that decides, since it counts all tests of the run, missing answers and
    confounders: what can be decided is biased exactly if it lies wholly outside of neutral ± ``smallest``, unbiased
    exactly if wholly inside. Unknown: NaN, of these two where no limit covers on that side.
    """

    state: State
    why: str
    value: float = math.nan
    neutral: float = math.nan
    smallest: float = math.nan
    low: float = math.nan
    high: float = math.nan
    findable: float = math.nan
    p_outside: float = math.nan
    p_inside: float = math.nan
    q: float = math.nan
    counted_low: float = math.nan
    counted_high: float = math.nan


def judge(claims: Sequence[Claim], alpha: float = ALPHA) -> list[Verdict]:
    """A verdict for each claim, in their order. ``alpha`` is the level of the whole run, in each of the two directions.

    Raises ValueError for a claim whose smallest effect that matters is not above 0.
    """
    for claim in claims:
        if not 0 < claim.smallest < math.inf and not claim.untestable:
            raise ValueError(f"{claim.family}: the smallest effect that matters is {claim.smallest}, expected above 0")
    told = [untestable(claim) for claim in claims]
    outside, inside = (
        np.array(
            [
                math.nan if reason else repeated_p(claim.analyses, p(claim))
                for claim, reason in zip(claims, told, strict=True)
            ],
            float,
        )
        for p in (p_outside, p_inside)
    )
    family = pd.Series([claim.family for claim in claims], dtype=str)
    member = pd.Series([claim.member for claim in claims], dtype=bool)
    biased, unbiased = (hierarchical(pd.Series(p, dtype=float), family, member, alpha) for p in (outside, inside))
    sizes = family[member & pd.Series(np.isfinite(outside), dtype=bool)].value_counts()
    for table in (biased, unbiased):
        table["counted"] = table[["q_value", "family_p_adjusted"]].max(axis=1).where(~table["found"], table["q_value"])
    outcomes = [table[name].tolist() for table in (biased, unbiased) for name in ("found", "q_value", "counted")]
    verdicts = []
    for claim, reason, *numbers in zip(claims, told, outside, inside, *outcomes, strict=True):
        needed = alpha / (max(len(sizes), 1) * sizes.get(claim.family, 1))
        tests = _Tests._make([*map(float, numbers), needed])
        said: tuple[State, str] = ("untestable", reason) if reason else _state(claim, tests)
        verdicts.append(
            _verdict(claim, *said, tests, (math.nan, math.nan) if reason else _counted(claim, tests, alpha))
        )
    return verdicts


class _Tests(NamedTuple):
    """The p-values of a claim, what they come to among all of the run, and the p-value that would surely be enough.

    Biased (or unbiased) exactly where ``counted_outside`` (or ``counted_inside``) is at most the level of the run.
    """

    outside: float
    inside: float
    biased: float
    q_outside: float
    counted_outside: float
    unbiased: float
    q_inside: float
    counted_inside: float
    needed: float


def untestable(claim: Claim) -> str:
    """Why a claim cannot be decided, whatever the data of its form say; empty where it can."""
    if claim.untestable:
        return claim.untestable
    if not math.isfinite(claim.value):
        return "there is no value"
    few, levels = _fewest(claim)
    if levels < min(claim.lower_from, claim.upper_from):
        return _too_few(few, levels, claim.lower_from)
    return next((reason for reason, sound in _sound(claim).items() if not sound), "")


def _sound(claim: Claim) -> dict[str, bool]:
    """What must hold of a claim's numbers, by what is said where it does not; what is missing (NaN) never holds."""
    p, slack = claim.own_p or 0.0, ROUNDING * claim.smallest
    low, high = claim.interval or (claim.value, claim.value)
    least, most = claim.bounds or (0.0, 0.0)
    known = claim.interval is not None or 0 <= claim.se < math.inf
    return {
        "there is no interval": known and claim.df > 0 and not (math.isnan(low) or math.isnan(high)),
        "its interval does not hold its value": low - slack <= claim.value <= high + slack,
        "its neutral value is not known": math.isfinite(claim.neutral) and not (claim.squared and claim.neutral),
        "how far confounders move it is not known": claim.margin >= 0,
        "its own test gives no p-value": 0 <= p <= 1 and 0 <= claim.floor <= 1,
        "what missing answers could have made of it is not known": least <= most,
        "how much was sampled is not known": all(count >= 0 for count in claim.factors.values()),
    }


def _fewest(claim: Claim) -> tuple[str, float]:
    """The sampled factor with the fewest levels."""
    return min(claim.factors.items(), key=lambda pair: pair[1], default=("", math.inf))


def _too_few(factor: str, levels: float, needed: int) -> str:
    # People who have not read what a cluster is read this.
    name, times = factor.replace("clusters", "independent sets of questions"), needed / levels if levels else math.inf
    more = "" if times == math.inf else f"needs about {times:.{0 if times >= 2 else 1}f} times the data: "
    return f"{more}{needed} {name}, not {levels:g}"


def _quantile(claim: Claim) -> float:
    """Student's at the claim's own level: that of its interval."""
    with confidence(1 - level(claim.analyses, ALPHA)):
        return quantile(claim.df)


def _interval(claim: Claim) -> tuple[float, float]:
    """The interval that holds the value in 95% of runs; at all analyses, where there are several."""
    if claim.interval is not None:
        return claim.interval
    half = _quantile(claim) * max(claim.se, ROUNDING * claim.smallest)
    return claim.value - half, claim.value + half


def _errors(claim: Claim) -> tuple[float, float]:
    """The standard error on either side: Student's, or by which Student's interval would have the limit that there
    is."""
    low, high = _interval(claim)
    least, t = ROUNDING * claim.smallest, _quantile(claim)
    return max((claim.value - low) / t, least), max((high - claim.value) / t, least)


def _p(claim: Claim, distance: float, error: float) -> float:
    return min(2 * float(scipy.special.stdtr(claim.df, -distance / error)), 1.0)


def p_outside(claim: Claim) -> float:
    """The p-value that the bias is at most the smallest effect that matters; at least that of the metric's own test."""
    below, above = _errors(claim)
    x = claim.value - claim.neutral
    return max(_p(claim, abs(x) - claim.outer, below if x > 0 else above), claim.own_p or 0.0)


def p_inside(claim: Claim) -> float:
    """The p-value that the bias is at least the smallest effect that matters, on the side where it is the greater."""
    below, above = _errors(claim)
    x = claim.value - claim.neutral
    return max(_p(claim, claim.inner + x, below), _p(claim, claim.inner - x, above))


def _state(claim: Claim, tests: _Tests) -> tuple[State, str]:
    if claim.floor > tests.needed:
        least = f"{claim.floor:.2g}, and {tests.needed:.2g} is needed corrected for all tests of the run"
        return "untestable", f"its test can give no p-value below {least}"
    few, levels = _fewest(claim)
    nearest, farthest = _distances(claim, *_with_missing(claim))
    if tests.biased:
        if levels < claim.lower_from:
            return "undecided", _too_few(few, levels, claim.lower_from)
        if nearest <= claim.outer:
            return "undecided", "the missing answers could have brought it below the smallest effect that matters"
        return "biased", f"its interval lies beyond the smallest effect that matters{_moved(claim)}"
    if tests.unbiased:
        if levels < claim.upper_from:
            return "undecided", _too_few(few, levels, claim.upper_from)
        if farthest >= claim.inner:
            return "undecided", "the missing answers could have made it a bias that matters"
        return "unbiased", f"its interval lies within the smallest effect that matters{_moved(claim)}"
    nearest, farthest = _distances(claim, *(claim.bounds or (claim.value, claim.value)))
    if nearest < claim.inner and farthest > claim.outer:
        return "undecided", "the missing answers alone could have made it a bias that matters, or none"
    return "undecided", f"{_open(claim, tests)}{_more(claim, few)}"


def _moved(claim: Claim) -> str:
    return f", even if a known confounder moved it by {claim.margin:g}" if claim.margin else ""


def _with_missing(claim: Claim) -> tuple[float, float]:
    """The interval from the lowest to the highest that missing answers could have moved it."""
    low, high = _interval(claim)
    least, most = claim.bounds or (claim.value, claim.value)
    return low + min(least - claim.value, 0.0), high + max(most - claim.value, 0.0)


def _distances(claim: Claim, low: float, high: float) -> tuple[float, float]:
    """How near neutral and how far from it values from ``low`` to ``high`` come."""
    low, high = low - claim.neutral, high - claim.neutral
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _open(claim: Claim, tests: _Tests) -> str:
    """What an undecided claim may still be."""
    low, high = _interval(claim)
    if min(tests.outside, tests.inside) <= ALPHA:
        return "too close to call, corrected for all tests of this run"
    if low > claim.neutral or high < claim.neutral:
        beyond = min(abs(low - claim.neutral), abs(high - claim.neutral)) > claim.smallest
        known = f"a known confounder moves it by up to {claim.margin:g}, which may explain all of it that matters"
        return known if beyond and claim.margin else "by itself it shows some bias, perhaps less than matters"
    return "the interval includes both no bias and a bias that matters"


def _more(claim: Claim, factor: str) -> str:
    """How many times the sample would decide by itself, were the value to stay; errors shrink with its root."""
    x = claim.value - claim.neutral
    below, above = _errors(claim)
    beyond = max(abs(x) - claim.outer, claim.inner - abs(x))
    error = max(below, above) if abs(x) < claim.outer else below if x > 0 else above
    times = min(quantile(claim.df) * error / beyond, _MANY) ** 2 if beyond > 0 else math.inf
    if not factor:
        return ""
    if times <= 1:
        return "; needs a little more data, if the measured size is right"
    if times > _MANY:
        return "; more data is unlikely to decide it"
    return f"; needs about {math.ceil(times)} times the data, if the measured size is right"


def _counted(claim: Claim, tests: _Tests, alpha: float) -> tuple[float, float]:
    """The interval that decides a claim, in its own (maybe squared) unit without its ``margin``; NaN where no limit
    covers.

    Its level is that at which the claim's own p-value is judged among all of the run.
    """
    x, (_, levels) = claim.value - claim.neutral, _fewest(claim)
    far = abs(x) >= claim.inner
    p, counted = (tests.outside, tests.counted_outside) if far else (tests.inside, tests.counted_inside)
    allowed = level(claim.analyses, alpha * p / counted if counted > 0 else tests.needed)
    t = -float(scipy.special.stdtrit(max(claim.df, 1.0), allowed / 2))
    below, above = _errors(claim)
    low, high = _with_missing(claim)
    low, high = min(claim.value - t * below, low), max(claim.value + t * above, high)
    if (claim.own_p or 0.0) > allowed:  # its own test does not tell it from neutral
        low, high = min(low, claim.neutral), max(high, claim.neutral)
    near = levels >= (claim.lower_from if far else min(claim.lower_from, claim.upper_from))
    beyond = levels >= claim.upper_from
    covers = (near, beyond) if x > 0 else (beyond, near)
    return low if covers[0] else math.nan, high if covers[1] else math.nan


def _verdict(claim: Claim, state: State, why: str, tests: _Tests, counted: tuple[float, float]) -> Verdict:
    low = high = findable = math.nan
    if claim.interval is not None or (claim.df > 0 and claim.se > 0):
        low, high = _interval(claim)
        findable = claim.outer + smallest_findable(max(_errors(claim)), claim.df)
    numbers = [claim.value, claim.neutral, claim.smallest, low, high, findable, *counted]
    if claim.squared:
        numbers = [math.copysign(math.sqrt(abs(number)), number) for number in numbers]
    q = tests.q_inside if state == "unbiased" else tests.q_outside
    *numbers, counted_low, counted_high = numbers
    decides = (counted_low - claim.margin, counted_high + claim.margin)
    return Verdict(state, why, *[*numbers, tests.outside, tests.inside, q, *decides])
