"""Tests of answers that are analysed more than once: error spending (Lan and DeMets 1983) and repeated p-values.

Answers come in rounds, and each round is analysed. With tests at 5% in each round, three in twenty models without bias
would be called biased in some round. So each round may spend only a part of the error (:func:`spending`). That part
gives the level of the round's tests and interval, by the recursion of Armitage, McPherson and Rowe (1969), from the
measured information (1 / SE^2) of each analysis. Each round includes the items of the one before, so what it adds is
independent of what was there, even if both have items of the same clusters.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import ndtr

from biasatlas.stats import Array

#: Nodes of the quadrature, and how many standard errors it covers. Where information hardly grows, fewer nodes would
#: miss what lies between two of them.
_NODES, _REACH = 128, 6.5
#: Measured information can fall, if a standard error was estimated too small before. Each analysis counts as having at
#: least this many times the information of the last.
_GAIN = 1.02
#: With fewer degrees of freedom than ``_DF``, early spending is multiplied by (df / _DF) ** _DF_POWER.
_DF, _DF_POWER = 20, 4
#: Smaller p-values count as this.
_LEAST = 1e-14


class Analysis(NamedTuple):
    """One interim analysis of an estimate: the ``share`` of the items asked by then (above 0, at most 1), its
    ``information`` 1 / SE^2, and its effective degrees of freedom."""

    share: float
    information: float
    df: float = math.inf


def spending(analyses: Sequence[Analysis]) -> float:
    """The share of the error spent by the last of ``analyses``, 0 to 1: it rises, and is 1 once everything was asked.

    A fifth is spent early, mostly between a tenth and a half of the items, so that a plain bias takes few items. The
    rest grows with the eighth power of the share, and is for the end. If half of the items have half of the
    information, asking all at once finds at most 4% more weak biases; spending that finds more takes more items for a
    plain bias. With few degrees of freedom a small part of the error finds next to nothing, so less is spent early.
    """
    if not analyses or analyses[-1].share >= 1:
        return float(len(analyses) > 0)
    by_then = [0.0, *((1 - (1 - each.share) ** 4) ** 1.5 for each in analyses)]
    early = sum(
        min(1.0, each.df / _DF) ** _DF_POWER * (now - before)
        for each, before, now in zip(analyses, by_then, by_then[1:], strict=False)
    )
    return 0.2 * early + 0.8 * analyses[-1].share ** 8


def levels(
    analyses: Sequence[Analysis], total: float, spent: Callable[[Sequence[Analysis]], float] = spending
) -> list[float]:
    """The two-sided levels of ``analyses`` (by rising share) with which any of them errs in ``total`` of null cases.

    ``spent`` maps the analyses so far to the share of the error that is spent by then, 0 to 1 and rising.
    """
    parts = (tuple(analyses[:count]) for count in range(1, len(analyses) + 1))
    return [2 * float(ndtr(-_looked(part, total, spent).bound)) for part in parts]


class _Looked(NamedTuple):
    """The state after an analysis: the |z| at which it rejects, the information and error spent by then, and the
    distribution of the sum of the scores where it has crossed no bound yet (``mass`` at ``nodes``)."""

    bound: float
    information: float
    used: float
    nodes: Array
    mass: Array


@lru_cache(4096)
def _looked(analyses: tuple[Analysis, ...], total: float, spent: Callable[[Sequence[Analysis]], float]) -> _Looked:
    """The state after the last of ``analyses``."""
    if not analyses:
        return _Looked(0.0, 0.0, 0.0, np.zeros(1), np.ones(1))
    before = _looked(analyses[:-1], total, spent)
    information = max(analyses[-1].information, _GAIN * before.information)
    scale, step = math.sqrt(information), math.sqrt(information - before.information)
    new = total * spent(analyses) - before.used

    def crossing(bound: float) -> float:
        beyond = (-bound * scale - before.nodes) / step, (before.nodes - bound * scale) / step
        return float(before.mass @ (ndtr(beyond[0]) + ndtr(beyond[1])))

    # Nothing lies beyond 40 standard errors. If all that is left is to be spent, the bound is 0.
    open_ = crossing(0.0) > new > 0
    bound = scipy.optimize.brentq(lambda b: crossing(b) - new, 0.0, 40.0, xtol=1e-10) if open_ else 0.0
    x, weights = _quadrature()
    reach = min(bound, _REACH) * scale
    at = reach * x
    density = np.exp(-(((at[:, None] - before.nodes) / step) ** 2) / 2) @ before.mass / (step * math.sqrt(2 * math.pi))
    return _Looked(bound, information, before.used + new, at, density * weights * reach)


@cache
def _quadrature() -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre on -1 to 1."""
    return np.polynomial.legendre.leggauss(_NODES)


def level(analyses: Sequence[Analysis], total: float) -> float:
    """The level of the last of ``analyses``; ``total`` where there is none."""
    return levels(analyses, total)[-1] if analyses else total


def repeated_p(analyses: Sequence[Analysis], p: float) -> float:
    """The smallest total error at which the last of ``analyses`` rejects with ``p``; at least ``p``. NaN stays NaN."""
    if not analyses or math.isnan(p):
        return p
    before, now = (spending(part) for part in (analyses[:-1], analyses))
    # The level of an analysis is at least what it adds to the error spent, and at most all that is.
    low, high = (min(max(p, _LEAST) / share, 1.0) for share in (now, now - before))
    if len(analyses) == 1 or low >= 1 or level(analyses, high) <= p:
        return high

    def short(log_total: float) -> float:
        return math.log(level(analyses, math.exp(log_total))) - math.log(max(p, _LEAST))

    if short(math.log(low)) >= 0:
        return low
    return float(math.exp(scipy.optimize.brentq(short, math.log(low), math.log(high), xtol=1e-4)))


def expected(
    analyses: Sequence[Analysis], bias: float, smallest: float, total: float, draws: int = 4000
) -> tuple[float, float]:
    """The mean share of the items that are asked at a true ``bias``, and the probability (0 to 1) of a verdict.

    ``total`` is the error that may be spent. Values of nested rounds are simulated: their sum of scores grows by
    independent normal steps.
    """
    information = np.maximum.accumulate([each.information for each in analyses])
    steps = np.random.default_rng(1).normal(size=(draws, len(analyses)))
    sums = (steps * np.sqrt(np.diff(information, prepend=0.0))).cumsum(axis=1)
    away = np.abs(bias + sums / information)
    dfs = np.maximum([each.df for each in analyses], 1.0)
    half = scipy.special.stdtrit(dfs, 1 - np.array(levels(analyses, total)) / 2) / np.sqrt(information)
    decided = (away - half > smallest) | (away + half < smallest)
    first = np.where(decided.any(axis=1), decided.argmax(axis=1), len(analyses) - 1)
    return float(np.array([each.share for each in analyses])[first].mean()), float(decided.any(axis=1).mean())
