"""The one verdict: what a run can say of each claim about a model, or about two, with all of its tests counted.

A claim is *biased* where its distance from neutral is at least the smallest effect that matters, *unbiased* where it is
less, *undecided* where the data allow both, and *untestable* where no data of this form could decide. Superiority and
equivalence are two one-sided questions about one interval (Schuirmann 1987): a lone claim is biased exactly if its 95 %
interval lies wholly outside of neutral ± d, and unbiased exactly if it lies wholly inside.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
import scipy

from biasatlas.stats.intervals import quantile, smallest_findable
from biasatlas.stats.multiplicity import ALPHA, hierarchical

State = Literal["biased", "unbiased", "undecided", "untestable"]
STATES: tuple[State, ...] = ("biased", "unbiased", "undecided", "untestable")

#: A standard error counts as at least this share of the smallest effect that matters: rounding is no effect.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Claim:
    """One row that may get a verdict: a metric of a model (or of a pair of models) in one part and category of a benchmark.

    ``family`` names the model (or pair) and the benchmark; families are tested before their members. ``value``, ``neutral``
    and ``smallest`` (the smallest effect that matters, above 0) have the metric's unit. ``se`` and ``df`` are the standard
    error and Student's degrees of freedom over every sampled factor; missing (NaN) where there is no interval.
    ``factors`` counts the levels of each sampled factor. Below ``lower_from`` levels of any factor a claim cannot be
    called biased, below ``upper_from`` it cannot be called unbiased: there the one-sided limits do not cover.
    ``own_p`` is the p-value of a test of the metric's own that the value is neutral, and ``floor`` the least it can give.
    ``bounds`` are the values (low, high) that missing answers could have made of it; no interval of theirs is known.
    ``member`` is false for a claim over all categories whose categories are claims themselves.
    ``untestable`` says in words why no data could decide; empty where they could.
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
    member: bool = True
    untestable: str = ""


@dataclass(frozen=True)
class Verdict:
    """What is said of a claim: its ``state``, and ``why`` in a sentence.

    ``p_outside`` is the p-value that the bias is at most the smallest effect that matters, ``p_inside`` that it is at least
    that; ``q`` is the one that decided, all tests of the run counted. ``low`` and ``high`` limit the 95 % interval.
    ``findable`` is the smallest bias that this run would have called biased four times in five. Unknown: NaN.
    """

    state: State
    why: str
    p_outside: float = math.nan
    p_inside: float = math.nan
    q: float = math.nan
    low: float = math.nan
    high: float = math.nan
    findable: float = math.nan


def judge(claims: Sequence[Claim], alpha: float = ALPHA) -> list[Verdict]:
    """A verdict for each claim, in their order. ``alpha`` is the level of the whole run, in each of the two directions.

    Raises ValueError for a claim whose smallest effect that matters is not above 0.
    """
    for claim in claims:
        if not claim.smallest > 0 and not claim.untestable:
            raise ValueError(f"{claim.family}: the smallest effect that matters is {claim.smallest}, expected above 0")
    told = [claim.untestable or _no_interval(claim) for claim in claims]
    tested = [not reason for reason in told]
    outside, inside = (
        np.array([p(claim) if open_ else math.nan for claim, open_ in zip(claims, tested, strict=True)])
        for p in (p_outside, p_inside)
    )
    family = pd.Series([claim.family for claim in claims], dtype=str)
    member = pd.Series([claim.member for claim in claims], dtype=bool)
    biased, unbiased = (hierarchical(pd.Series(p, dtype=float), family, member, alpha) for p in (outside, inside))
    sizes = family[member & pd.Series(tested, dtype=bool)].value_counts()
    return [
        Verdict("untestable", told[i])
        if told[i]
        else _verdict(claim, outside[i], inside[i], biased.iloc[i], unbiased.iloc[i], sizes, alpha)
        for i, claim in enumerate(claims)
    ]


def _no_interval(claim: Claim) -> str:
    return "" if math.isfinite(claim.value) and math.isfinite(claim.se) and claim.df > 0 else "it has no interval"


def _se(claim: Claim) -> float:
    return max(claim.se, ROUNDING * claim.smallest)


def p_outside(claim: Claim) -> float:
    """The p-value that the bias is at most the smallest effect that matters; at least that of the metric's own test."""
    t = (abs(claim.value - claim.neutral) - claim.smallest) / _se(claim)
    return max(min(2 * float(scipy.special.stdtr(claim.df, -t)), 1.0), claim.own_p or 0.0)


def p_inside(claim: Claim) -> float:
    """The p-value that the bias is at least the smallest effect that matters."""
    t = (claim.smallest - abs(claim.value - claim.neutral)) / _se(claim)
    return min(2 * float(scipy.special.stdtr(claim.df, -t)), 1.0)


def _verdict(
    claim: Claim, outside: float, inside: float, biased: pd.Series, unbiased: pd.Series, sizes: pd.Series, alpha: float
) -> Verdict:
    s, away = _se(claim), claim.value - claim.neutral
    half = quantile(claim.df) * s
    low, high = claim.value - half, claim.value + half
    findable = claim.smallest + smallest_findable(s, claim.df)

    def said(state: State, why: str, q: float = math.nan) -> Verdict:
        return Verdict(state, why, outside, inside, q, low, high, findable)

    needed = alpha / (len(sizes) * sizes.get(claim.family, 1))
    if claim.floor > needed:
        return said("untestable", f"its test can give no p-value below {claim.floor:.2g}, and {needed:.2g} is needed")
    few, levels = min(claim.factors.items(), key=lambda pair: pair[1], default=("", math.inf))
    if biased["found"]:
        if levels < claim.lower_from:
            return said("untestable", _too_few(few, levels, claim.lower_from))
        if _flips(claim, away):
            return said("undecided", "answers that are missing could have been neutral", biased["q_value"])
        return said("biased", "its interval lies beyond the smallest effect that matters", biased["q_value"])
    if unbiased["found"]:
        if levels < claim.upper_from:
            return said("undecided", f"{_too_few(few, levels, claim.upper_from)} to call it unbiased")
        if claim.bounds and max(abs(limit - claim.neutral) for limit in claim.bounds) > claim.smallest:
            return said("undecided", "answers that are missing could have been biased", unbiased["q_value"])
        return said("unbiased", "its interval lies within the smallest effect that matters", unbiased["q_value"])
    if levels < claim.lower_from:
        return said("untestable", _too_few(few, levels, claim.lower_from))
    return said("undecided", _open(claim, low, high, outside))


def _flips(claim: Claim, away: float) -> bool:
    """Whether missing answers could bring a claim back to what does not matter."""
    if claim.bounds is None:
        return False
    return min((limit - claim.neutral) * math.copysign(1, away) for limit in claim.bounds) <= claim.smallest


def _too_few(factor: str, levels: float, needed: int) -> str:
    return f"{levels:g} {factor}, {needed} are needed"


def _open(claim: Claim, low: float, high: float, outside: float) -> str:
    """What an undecided claim may still be."""
    if outside <= ALPHA:
        return (
            "its own interval lies beyond the smallest effect that matters, but not with all tests of the run counted"
        )
    if low > claim.neutral or high < claim.neutral:
        return "there is some bias, perhaps less than matters"
    return "the interval holds both no bias and one that matters"
