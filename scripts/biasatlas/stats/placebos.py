"""Shifts tested against placebos: edits without meaning, whose effects say how far any edit may move a model.

A test over scenarios alone finds a bias about white space: any edit has an effect that is the same in all scenarios,
and more scenarios only make it more certain. So a shift counts only if it lies outside what one more placebo would do.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pandas as pd
import scipy

from biasatlas.stats.intervals import CONFIDENCE, Inference, without
from biasatlas.stats.replicates import Crossed, Replicates

#: Fewer placebo arms than ``NEEDED`` show no spread; with fewer than ``ADVISED`` only large shifts are found.
NEEDED, ADVISED = 3, 7

#: A level needs a value in at least this share of the scenarios: fewer say little about the others.
LEAST_SHARE = 0.5

#: A spread below this share of a step counts as none.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class PlaceboTested(Replicates):
    """The largest of some ``shifts``, as replicates over scenarios, with the prediction interval of placebo arms.

    ``shifts`` is (scenarios, levels); ``placebos`` is (scenarios, arms), each arm less the mean of all. In both, the
    mean of a column is the effect. ``weights`` gives 1/m + 1/k for each level: the variance of its shift, in units of
    the variance of an arm's effect, if m arms make the level and k what it is compared with. ``arms`` is (scenarios,
    arms), for levels with several arms: each arm less the mean of its level; a column is (level, arm). ``step`` is the
    smallest change of an arm's mean over all scenarios. ``level`` is the one that gives the value; it and the placebos
    are taken over the scenarios in which it has a value. ``possible`` gives each level's smallest and largest shift
    that missing answers could have led to; empty if none are missing.
    """

    shifts: pd.DataFrame
    placebos: pd.DataFrame
    weights: pd.Series
    arms: pd.DataFrame
    step: float
    level: str
    possible: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        shifts: pd.DataFrame,
        placebos: pd.DataFrame,
        weights: pd.Series,
        arms: pd.DataFrame,
        step: float,
    ) -> "PlaceboTested":
        """The estimate for the level whose mean lies farthest from 0; every level has a value in some scenario.

        Levels with a value in too few scenarios are considered only if all are such.
        """
        enough = shifts.notna().mean() >= LEAST_SHARE
        level = shifts.loc[:, enough | ~enough.any()].mean().abs().idxmax()
        own = shifts[level].dropna()
        n = len(own)
        value = float(own.mean())
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (n * value - own) / (n - 1)
        even = pd.Series(1 / n, own.index)
        tested = {"shifts": shifts, "placebos": placebos, "weights": weights, "arms": arms}
        return cls(value=value, without=others, pull=even, **tested, step=step, level=level)

    @property
    def factors(self) -> dict[str, int]:
        """Empty: more scenarios or placebos would not make the spread of placebos smaller."""
        return {}

    @property
    def _effects(self) -> pd.Series:
        """The effect of each placebo arm, in the scenarios in which the level has a value."""
        return self.placebos.reindex(self.without.index).mean().dropna()

    @property
    def missing(self) -> tuple[float, float] | None:
        """The smallest and largest value that missing answers could have led to; None if none are missing.

        They are those of its level, extended on its side of 0 as far as any other level could have shifted.
        """
        if not self.possible:
            return None
        far = [abs(value) for level, values in self.possible.items() if level != self.level for value in values]
        end = math.copysign(max([abs(self.value), *far]), self.value)
        ends = [*self.possible[self.level], end]
        return min(ends), max(ends)

    @property
    def reason(self) -> str:
        """Why there is no interval; empty where there is one."""
        arms, n, of = len(self._effects), len(self.without), len(self.shifts)
        if not arms:
            return "no null: there are no placebo arms"
        if n < LEAST_SHARE * of:
            return f"a value in {n} of {of} scenarios: {math.ceil(LEAST_SHARE * of)} are needed"
        if arms < NEEDED:
            return f"{arms} placebo arm{'s' * (arms > 1)}: {NEEDED} are needed, and {ADVISED} advised"
        return ""

    def inference(self) -> Inference:
        """The value with its prediction interval, at Bonferroni's level for the number of levels.

        Its standard error is the SD of the placebos' effects times the root of the level's weight, on arms - 1 degrees
        of freedom. If the arms that make a level (names of one group) differ by more than placebos do, their SD is used
        with its degrees of freedom. Placebos that do not differ are treated as if one of them differed by one step.
        """
        effects, scenarios = self._effects, self.without.index
        if self.reason:
            return without(self.value, len(effects), self.reason)
        step = self.step * len(self.shifts) / len(scenarios)
        spread, df = float(effects.std(ddof=1)), len(effects) - 1
        if spread < _ROUNDING * step:
            spread = step / math.sqrt(len(effects))
        apart = self.arms.reindex(scenarios).mean().dropna()
        free = len(apart) - apart.index.get_level_values(0).nunique()
        within = math.sqrt(float((apart**2).sum()) / free) if free > 0 else 0.0
        if within > spread:
            spread, df = within, free
        se = spread * math.sqrt(self.weights[self.level])
        tail = (1 - CONFIDENCE) / 2 / self.shifts.shape[1]
        half = float(scipy.special.stdtrit(df, 1 - tail)) * se
        return Inference(self.value, se, df, self.value - half, self.value + half, len(effects))

    def minus(self, other: Replicates | Crossed) -> "PlaceboTested":
        """The largest difference from ``other``. Raises ValueError if it has other levels, scenarios or arms."""
        if not isinstance(other, PlaceboTested):
            raise ValueError("the estimates are of different designs")
        pairs = [(self.shifts, other.shifts), (self.placebos, other.placebos), (self.arms, other.arms)]
        if not all(one.index.equals(two.index) and one.columns.equals(two.columns) for one, two in pairs):
            raise ValueError("the estimates are of different scenarios or arms")
        shifts, placebos, arms = (cast(pd.DataFrame, one - two) for one, two in pairs)
        if shifts.isna().all().any():
            raise ValueError("the estimates share no scenario")
        found = PlaceboTested.of(shifts, placebos, self.weights, arms, self.step + other.step)
        if not (self.possible or other.possible):
            return found
        ranges = [
            {level: (value, value) for level, value in each.shifts.mean().items()} | dict(each.possible)
            for each in (self, other)
        ]
        one, two = ranges
        apart = {level: (one[level][0] - two[level][1], one[level][1] - two[level][0]) for level in one if level in two}
        return replace(found, possible=apart)
