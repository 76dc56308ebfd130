"""Verdicts: what a run can say about each claim on a model or a pair of models, corrected for all of its tests.

A claim is *biased* where its distance from neutral is at least the smallest effect that matters, *unbiased* where it is
less, *undecided* where the data allow both, and *untestable* where these data, or this metric, cannot decide.
Superiority and equivalence are two one-sided questions about one interval (Schuirmann 1987): a claim tested alone is
biased exactly if its 95% interval lies wholly outside neutral ± d, and unbiased exactly if it lies wholly inside.
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

#: If more than this many times the data would be needed, no number is given.
_MANY = 100


def spaced(unit: str) -> str:
    """A ``unit`` as it follows a number: 5%, 5 points."""
    return f" {unit}" if len(unit) > 1 else unit


def words(state: str, smallest: float, unit: str, pair: bool = False) -> str:
    """A model's state in words, or that of a ``pair`` of models; ``smallest`` is the smallest effect that matters, in
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
    interval. ``interval`` is given if the interval (at the level of ``analyses``) is not Student's. ``squared``: these
    numbers are squares of the metric, with its sign. ``factors`` counts the levels of each sampled factor. With fewer
    than ``lower_from`` levels of any factor a claim cannot be called biased, with fewer than ``upper_from`` it cannot
    be called unbiased: the one-sided limits do not cover. ``own_p`` is the p-value of the metric's own test that the
    value is neutral, and ``floor`` the smallest that this test can give. ``bounds`` (low, high) are the extreme values
    that missing answers could have led to; these have no interval. ``member`` is false for a claim over all categories
    whose categories are claims themselves. ``margin`` is how far something other than bias is known to move the metric,
    in its unit: a biased claim must lie that much farther from neutral, an unbiased one that much nearer.
    ``untestable`` says in words why no data could decide; empty if they could. If items are asked in rounds,
    ``analyses`` are those so far, this one last: p-values are then repeated ones, and the interval holds the value at
    all of them.
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
        """The distance from neutral beyond which it is biased, even if confounders moved it by ``margin``."""
        return (math.sqrt(self.smallest) + self.margin) ** 2 if self.squared else self.smallest + self.margin

    @property
    def inner(self) -> float:
        """The distance from neutral within which it is unbiased, even if confounders moved it by ``margin``."""
        root = math.sqrt(self.smallest) if self.squared else self.smallest
        return max(root - self.margin, 0.0) ** (2 if self.squared else 1)


@dataclass(frozen=True)
class Verdict:
    """What is said of a claim: its ``state``, and ``why`` in a sentence.

    ``value``, ``neutral``, ``smallest``, the 95% interval from ``low`` to ``high``, and ``findable``, the smallest
    bias that this run would call biased with 80% power if tested alone, have the metric's unit. ``p_outside`` is the
    p-value of the hypothesis that the bias is at most the smallest effect that matters, ``p_inside`` that it is at
    least that; ``q`` is ``p_inside`` of unbiased claims, ``p_outside`` of others, corrected for all tests of the run.
    ``counted_low`` and ``counted_high`` are the interval that decides, since it allows for all tests of the run,
    missing answers and confounders: a testable claim is biased exactly if it lies wholly outside neutral ±
    ``smallest``, unbiased exactly if wholly inside. Unknown numbers are NaN; so is a limit that does not cover.
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
    """The p-values of a claim, raw and corrected for all tests of the run, and a p-value that is always low enough.

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
    """Why a claim cannot be decided; empty if it can."""
    if claim.untestable:
        return claim.untestable
    if not math.isfinite(claim.value):
        return "there is no value"
    few, levels = _fewest(claim)
    if levels < min(claim.lower_from, claim.upper_from):
        return _too_few(few, levels, claim.lower_from)
    return next((reason for reason, sound in _sound(claim).items() if not sound), "")


def _sound(claim: Claim) -> dict[str, bool]:
    """A fault of a claim's numbers, in words -> whether they are free of it; missing numbers (NaN) never are."""
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
    """The sampled factor with the fewest levels, and their number."""
    return min(claim.factors.items(), key=lambda pair: pair[1], default=("", math.inf))


def _too_few(factor: str, levels: float, needed: int) -> str:
    # Readers of this may not know what a cluster is.
    name, times = factor.replace("clusters", "independent sets of questions"), needed / levels if levels else math.inf
    more = "" if times == math.inf else f"needs about {times:.{0 if times >= 2 else 1}f} times the data: "
    return f"{more}{needed} {name}, not {levels:g}"


def _quantile(claim: Claim) -> float:
    """Student's quantile at the level of the claim's interval."""
    with confidence(1 - level(claim.analyses, ALPHA)):
        return quantile(claim.df)


def _interval(claim: Claim) -> tuple[float, float]:
    """The interval that holds the value in 95% of runs; if there are several analyses, at all of them."""
    if claim.interval is not None:
        return claim.interval
    half = _quantile(claim) * max(claim.se, ROUNDING * claim.smallest)
    return claim.value - half, claim.value + half


def _errors(claim: Claim) -> tuple[float, float]:
    """The standard errors below and above the value: those with which Student's interval has the claim's limits."""
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
    """The p-value that the bias is at least the smallest effect that matters, on the side with the larger p-value."""
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
    """The interval, widened on each side by as much as missing answers could have moved the value."""
    low, high = _interval(claim)
    least, most = claim.bounds or (claim.value, claim.value)
    return low + min(least - claim.value, 0.0), high + max(most - claim.value, 0.0)


def _distances(claim: Claim, low: float, high: float) -> tuple[float, float]:
    """The smallest and the largest distance from neutral of values from ``low`` to ``high``."""
    low, high = low - claim.neutral, high - claim.neutral
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _open(claim: Claim, tests: _Tests) -> str:
    """Why the data leave a claim undecided."""
    low, high = _interval(claim)
    if min(tests.outside, tests.inside) <= ALPHA:
        return "too close to call, corrected for all tests of this run"
    if low > claim.neutral or high < claim.neutral:
        beyond = min(abs(low - claim.neutral), abs(high - claim.neutral)) > claim.smallest
        known = f"a known confounder moves it by up to {claim.margin:g}, which may explain all of it that matters"
        return known if beyond and claim.margin else "by itself it shows some bias, perhaps less than matters"
    return "the interval includes both no bias and a bias that matters"


def _more(claim: Claim, factor: str) -> str:
    """How many times the data would decide the claim alone if its value stayed; errors shrink with the root of that."""
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
    """The interval that decides a claim, in its (maybe squared) unit, before ``margin``; NaN where no limit covers.

    Its level is the one at which the run's correction judges the claim's p-value.
    """
    x, (_, levels) = claim.value - claim.neutral, _fewest(claim)
    far = abs(x) >= claim.inner
    p, counted = (tests.outside, tests.counted_outside) if far else (tests.inside, tests.counted_inside)
    allowed = level(claim.analyses, alpha * p / counted if counted > 0 else tests.needed)
    t = -float(scipy.special.stdtrit(max(claim.df, 1.0), allowed / 2))
    below, above = _errors(claim)
    low, high = _with_missing(claim)
    low, high = min(claim.value - t * below, low), max(claim.value + t * above, high)
    if (claim.own_p or 0.0) > allowed:  # its own test does not distinguish it from neutral
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
