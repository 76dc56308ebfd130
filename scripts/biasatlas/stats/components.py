"""Variance components of a crossed layout, with intervals: how much numbers vary from model to model, framing to
framing."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import scipy

from biasatlas.stats import Array
from biasatlas.stats.intervals import CONFIDENCE


class MeanSquare(NamedTuple):
    """A mean square of an analysis of variance, and its degrees of freedom."""

    value: float
    df: int


def mean_squares(values: Array) -> dict[tuple[int, ...], MeanSquare]:
    """Of a crossed array with a value in each cell: by the axes of an effect, as (0,) or (0, 2)."""
    found = {}
    axes = range(values.ndim)
    for size in range(1, values.ndim + 1):
        for own in itertools.combinations(axes, size):
            effect = values.mean(axis=tuple(set(axes) - set(own)), keepdims=True)
            for axis in own:
                effect = effect - effect.mean(axis=axis, keepdims=True)
            df = math.prod(values.shape[axis] - 1 for axis in own)
            total = float((effect**2).sum()) * values.size / effect.size
            found[own] = MeanSquare(total / df if df else 0.0, df)
    return found


def combination(
    squares: Mapping[tuple[int, ...], MeanSquare], weights: Mapping[tuple[int, ...], float]
) -> tuple[float, float, float]:
    """The sum of mean squares times their ``weights``, and its 95% interval by the modified large-sample method.

    Ting, Burdick, Graybill, Jeyaratnam and Lu (1990), for independent mean squares of normal effects. The value can be
    below 0 where a weight is.
    """
    terms = [(weight, *squares[axes]) for axes, weight in weights.items() if weight and squares[axes].df]
    value = sum(weight * square for weight, square, _ in terms)
    width = [math.sqrt(max(_variance([(sign * w, s, df) for w, s, df in terms]), 0.0)) for sign in (1, -1)]
    return value, value - width[0], value + width[1]


def _variance(terms: Sequence[tuple[float, float, int]]) -> float:
    """The square of the distance from the value to its lower limit; to the upper one where all weights change sign."""
    tail, total = (1 - CONFIDENCE) / 2, 0.0
    up, down = ([(abs(w) * s, df) for w, s, df in terms if sign * w > 0] for sign in (1, -1))
    total += sum((_above(df, tail) * x) ** 2 for x, df in up) + sum((_below(df, tail) * x) ** 2 for x, df in down)
    for (x, n), (y, m) in itertools.product(up, down):
        f = float(scipy.special.fdtri(n, m, 1 - tail))
        total += ((f - 1) ** 2 - (_above(n, tail) * f) ** 2 - _below(m, tail) ** 2) / f * x * y
    for (x, n), (y, m) in itertools.combinations(up, 2):
        both = (_above(n + m, tail) * (n + m)) ** 2 / (n * m)
        total += (both - _above(n, tail) ** 2 * n / m - _above(m, tail) ** 2 * m / n) / (len(up) - 1) * x * y
    return total


def _above(df: int, tail: float) -> float:
    """By what share a mean square may lie above its expectation."""
    return 1 - df / float(scipy.special.chdtri(df, tail))


def _below(df: int, tail: float) -> float:
    """By how many times itself a mean square may lie below it."""
    return df / float(scipy.special.chdtri(df, 1 - tail)) - 1
