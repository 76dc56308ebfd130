"""What may be said of answers that are analysed more than once: error spending (Lan and DeMets 1983), repeated
p-values.

Answers come in rounds, and each round is analysed. At 5% a round, three models in twenty without bias would be called
biased at some round. So the error is spent, bit by bit (:func:`spending`). What a round may add gives the level
of its tests and of its interval, by the recursion of Armitage, McPherson and Rowe (1969) from the information (1 /
SE^2) that each analysis was measured to have. The items of a round are among those of the next, so that what comes in
between is independent of what was there, also of clusters that both have.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import ndtr

from biasatlas.stats import Array

#: Nodes of the quadrature, and how many standard errors it reaches: where information hardly grows, fewer nodes miss
#: what comes between two of them.
_NODES, _REACH = 128, 6.5
#: Measured information falls where an error was estimated too small before; an analysis counts as at least so many
#: times the last.
_GAIN = 1.02
#: With fewer degrees of freedom, less of the error is spent early: multiplied by (df / _DF) ** _DF_POWER.
_DF, _DF_POWER = 20, 4
#: P-values below this are of no use to anybody, and cannot be told apart.
_LEAST = 1e-14


class Analysis(NamedTuple):
    """One interim analysis of an estimate: when a ``share`` of the items (above 0, at most 1) was asked, with
    ``information`` 1 / SE^2 and what its degrees of freedom are worth."""

    share: float
    information: float
    df: float = math.inf


def spending(analyses: Sequence[Analysis]) -> float:
    """How much of the error is spent by the last of ``analyses``, 0 to 1: rising, and 1 when everything was asked.

    A fifth, most of it between a tenth and a half, so that a plain bias takes few items; the rest by the eighth power
    of the share, for the end. Where half of the items tell half, asking once finds at most 4% more weak biases.
    Spending that finds more takes more items of a plain bias. With few degrees of freedom a small part of the error
    finds next to nothing, so less is spent before the end.
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
    """The two-sided level of each of ``analyses`` (shares rising), with which all of them err in ``total`` of null
    cases.

    ``spent`` maps the analyses so far to the share of the error that is spent by then, 0 to 1 and rising.
    """
    parts = (tuple(analyses[:count]) for count in range(1, len(analyses) + 1))
    return [2 * float(ndtr(-_looked(part, total, spent).bound)) for part in parts]


class _Looked(NamedTuple):
    """The least |z| at an analysis that is beyond chance, the information and error spent by then, and where the sum of
    the scores lies that has crossed no bound yet."""

    bound: float
    information: float
    used: float
    nodes: Array
    mass: Array


@lru_cache(4096)
def _looked(analyses: tuple[Analysis, ...], total: float, spent: Callable[[Sequence[Analysis]], float]) -> _Looked:
    """The last of ``analyses``."""
    if not analyses:
        return _Looked(0.0, 0.0, 0.0, np.zeros(1), np.ones(1))
    before = _looked(analyses[:-1], total, spent)
    information = max(analyses[-1].information, _GAIN * before.information)
    scale, step = math.sqrt(information), math.sqrt(information - before.information)
    new = total * spent(analyses) - before.used

    def crossing(bound: float) -> float:
        beyond = (-bound * scale - before.nodes) / step, (before.nodes - bound * scale) / step
        return float(before.mass @ (ndtr(beyond[0]) + ndtr(beyond[1])))

    # Beyond 40 standard errors nothing is left; where all is to be spent the bound is 0.
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
    """The least total error at which ``p`` at the last of ``analyses`` would be beyond chance, at least ``p``; missing
    stays so."""
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
    """The share of the items that a verdict takes on average at a true ``bias``, and the chance (0 to 1) that there is
    one.

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
