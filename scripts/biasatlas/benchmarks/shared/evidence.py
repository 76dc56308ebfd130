"""What one model's scores say of a metric, in a form that can be tested and compared with another model's."""

import math
from dataclasses import dataclass

import pandas as pd

from biasatlas.stats.intervals import NO_DIFFERENCE, Inference, clopper_pearson, within, without
from biasatlas.stats.replicates import Replicates

#: The category of evidence that is over all of them.
OVERALL = "overall"


@dataclass(frozen=True)
class Evidence:
    """A metric in one ``category``; ``part`` tells its rows apart beside that (a task, a context; '' if none).

    ``neutral`` is the value that it is tested against, None where it measures no bias or no model with noise meets it;
    ``bounds`` are what a single cluster's value can be, None where there are none.
    ``clusters_needed`` are those below which its interval covers too seldom, whatever its test does. ``items`` has a row for each item behind it: its ``cluster``, and on which ``side`` of neutral its answer lies (-1, 0, 1;
    missing where a single answer has none). ``p_value`` is that of a test which the metric has of its own.
    """

    metric: str
    part: str
    category: str
    neutral: float | None
    bounds: tuple[float, float] | None
    replicates: Replicates
    items: pd.DataFrame
    p_value: float | None = None
    clusters_needed: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is evidence of, the same for every model."""
        return self.metric, self.part, self.category

    def inference(self) -> Inference:
        """The estimate with its interval. Where all clusters agree, it is what as many of them can hide (Clopper and Pearson)."""
        found = self.replicates.inference()
        if not found.reason and found.n_clusters < self.clusters_needed:
            reason = f"{found.n_clusters} clusters, {self.clusters_needed} are needed"
            return without(found.value, found.n_clusters, reason)
        if self.bounds is None:
            return found
        low, high = self.bounds
        if found.reason != NO_DIFFERENCE:
            return within(found, low, high)
        share = clopper_pearson(found.n_clusters * (found.value - low) / (high - low), found.n_clusters)
        start, end = (low + (high - low) * part for part in share)
        return Inference(found.value, low=start, high=end, n_clusters=found.n_clusters)

    def p(self) -> float:
        """The two-sided p-value of the neutral value (of its own test, where it has one); missing without a test.

        Where all clusters agree, that of a sign test: the chance that all of them lie on one side.
        """
        if self.neutral is None:
            return math.nan
        if self.p_value is not None:
            return self.p_value
        found = self.inference()
        if found.reason or found.se > 0:
            return found.p_value(self.neutral)
        return 1.0 if found.value == self.neutral else 2.0 ** (1 - found.n_clusters)


def items_of(keys: pd.Series, clusters: pd.Series, side: pd.Series | None = None) -> pd.DataFrame:
    """The items of an :class:`Evidence`, by ``keys``."""
    sides = pd.NA if side is None else side.to_numpy()
    return pd.DataFrame({"cluster": clusters.to_numpy(), "side": sides}, index=pd.Index(keys.to_numpy()))
