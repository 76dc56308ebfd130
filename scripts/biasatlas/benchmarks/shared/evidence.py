"""Evidence: what a model's scores say about a metric, in a form that can be judged and compared with another's."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Headline, Spec
from biasatlas.benchmarks.shared.estimates import filled_cases
from biasatlas.stats.clusters import rate
from biasatlas.stats.intervals import MIN_CLUSTERS, NO_DIFFERENCE, Inference, confidence
from biasatlas.stats.multiplicity import ALPHA
from biasatlas.stats.placebos import PlaceboTested
from biasatlas.stats.replicates import Crossed, Replicates, bounded
from biasatlas.stats.rounds import Analysis, level
from biasatlas.stats.verdict import Claim

#: The category of evidence that is over all of them.
OVERALL = "overall"

#: The share of items that may fail if nothing bounds what they would have shown.
_MOST_LOST = 0.05

#: Why clusters that do not differ give no verdict: they show no sampling error, unless a cluster's values are bounded.
ALIKE = "all independent sets of questions give the same value: a scorer is broken, or there is nothing to tell apart"


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the headline of a metric declares: the value of a model without bias, and the smallest effect that matters.

    ``unit`` is the metric's. If the value of a model without bias is not known, ``neutral`` is None and ``reason`` says
    why. ``margin`` is how far known confounders move the metric; ``closed_by`` names those without a known limit, in
    words. ``own_null``: the run's placebos say what else moves it.
    """

    neutral: float | None
    smallest: float
    unit: str
    reason: str
    margin: float = 0.0
    closed_by: str = ""
    own_null: bool = False


@dataclass(frozen=True)
class Evidence:
    """A metric in one ``category`` and one ``part`` (a task, a context; '' if there are none).

    ``replicates`` are over every factor that its items are sampled in. ``items`` has a row for each item behind it: its
    ``cluster``, how far ``away`` from neutral its answer lies, in the metric's unit, and on which ``side`` (-1, 0, 1);
    both are missing if a single answer has neither. ``bounds`` limit a single cluster's value (None: no limits);
    ``rate``: the value is a share of that range, and gets the interval of a share.

    ``own_p`` is the p-value of the metric's own test, ``floor`` the smallest that this test can give. With fewer than
    ``lower_from`` levels of a factor nothing is called biased, with fewer than ``upper_from`` nothing unbiased: the
    interval's limits do not cover. With fewer than ``interval_from`` clusters no interval is shown, though a verdict
    may rest on the limit that covers. ``squared``: the replicates are of the metric's square with its sign.
    ``untestable`` says why these data, or this metric, cannot decide; empty if they can.

    ``declared`` is what the benchmark's headline declares; None without a headline: nothing is claimed. ``margin`` is
    how far something other than bias moves the metric by these answers, in its unit; the larger of this and the
    declared margin counts. ``missing`` are the smallest and largest value that missing answers could have led to;
    ``status`` is the column of scores that says which items count. If items are asked in rounds, ``analyses`` are those
    so far, this one last; before the first, a cluster must have ``items_needed`` items on average.
    """

    metric: str
    part: str
    category: str
    replicates: Replicates | Crossed
    items: pd.DataFrame
    bounds: tuple[float, float] | None = None
    rate: bool = False
    own_p: float | None = None
    floor: float = 0.0
    lower_from: int = MIN_CLUSTERS
    upper_from: int = MIN_CLUSTERS
    interval_from: int = MIN_CLUSTERS
    squared: bool = False
    untestable: str = ""
    declared: Declared | None = None
    margin: float = 0.0
    missing: tuple[float, float] | None = None
    status: str = "status"
    items_needed: int = 1
    analyses: tuple[Analysis, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is evidence of, the same for every model."""
        return self.metric, self.part, self.category

    @property
    def unit(self) -> str:
        """The metric's unit; empty without a headline."""
        return self.declared.unit if self.declared else ""

    @property
    def value(self) -> float:
        """The estimate in the metric's unit."""
        return self.root(self.replicates.value)

    def root(self, number: float) -> float:
        """``number`` in the metric's unit."""
        return math.copysign(math.sqrt(abs(number)), number) if self.squared else number

    def inference(self) -> Inference:
        """The estimate with its interval; with ``bounds``, an exact one if nearly all clusters agree."""
        found = self.replicates.inference()
        if self.bounds is None:
            return found
        if not self.rate:
            return bounded(self.replicates, self.bounds)
        low, width = self.bounds[0], self.bounds[1] - self.bounds[0]
        variance = 0.0 if found.reason else (found.se / width) ** 2
        share = rate((found.value - low) / width, variance, found.df, found.n_clusters)
        limits = (low + width * share.low, low + width * share.high)
        return replace(share, value=found.value, se=width * share.se, low=limits[0], high=limits[1])

    def no_interval_reason(self) -> str:
        """Why no interval is shown; empty where one is."""
        found = self.inference()
        if not found.reason and found.n_clusters < self.interval_from:
            return f"{found.n_clusters} clusters, {self.interval_from} are needed"
        return found.reason

    def claim(self, family: str, untestable: str = "", member: bool = True) -> Claim:
        """The claim, to be judged among all claims of a run: in ``family``, as a ``member`` or beside its members.

        ``untestable`` is a further reason why it cannot be tested; the evidence's own reasons come first. Raises
        ValueError if no headline declares the metric.
        """
        if self.declared is None:
            raise ValueError(f"{' '.join(filter(None, self.key))}: no headline declares what it claims")
        neutral, smallest = self.declared.neutral, self.declared.smallest
        with confidence(1 - level(self.analyses, ALPHA)):
            found = self.inference()
        alike = found.reason == NO_DIFFERENCE
        return Claim(
            family=family,
            value=found.value,
            neutral=math.nan if neutral is None else neutral,
            smallest=math.nan if neutral is None else smallest**2 if self.squared else smallest,
            margin=float(np.maximum(self.declared.margin, self.margin)),
            se=0.0 if alike else found.se,
            df=found.df if found.df > 0 else found.n_clusters - 1,
            interval=None if math.isnan(found.low) else (found.low, found.high),
            factors=self.replicates.factors,
            lower_from=self.lower_from,
            upper_from=self.upper_from,
            own_p=self.own_p,
            floor=self.floor,
            bounds=self.missing,
            member=member,
            squared=self.squared,
            analyses=self.analyses,
            untestable=("" if math.isfinite(found.value) else found.reason.replace("no value", "there is no value"))
            or self.untestable
            or (self.declared.reason if neutral is None else "")
            or self.declared.closed_by
            or untestable
            or (ALIKE if alike else ""),
        )

    def minus(self, other: "Evidence") -> "Evidence":
        """This minus ``other``, another model's evidence on the same items. Neutral is 0; the same distance matters.

        A limit that does not cover on one side may fail on both sides of a difference. If both models were asked in
        rounds, the difference has the analyses of the one that was asked less, whose items are compared; if both were
        asked as much, those with the stricter level. Raises ValueError if the clusters differ.
        """
        needed, replicates = max(self.lower_from, self.upper_from), self.replicates.minus(other.replicates)
        return replace(
            self,
            replicates=replicates,
            bounds=self.bounds and (self.bounds[0] - self.bounds[1], self.bounds[1] - self.bounds[0]),
            rate=False,
            own_p=None,
            floor=0.0,
            lower_from=needed,
            upper_from=needed,
            declared=self.declared
            and replace(
                self.declared,
                neutral=None if self.declared.neutral is None else 0.0,
                margin=2 * self.declared.margin,  # a confounder may move the two apart
            ),
            margin=sum(
                float(np.maximum(each.margin, self.declared.margin if self.declared else 0.0)) for each in (self, other)
            ),
            missing=replicates.missing if isinstance(replicates, PlaceboTested) else _apart(self, other),
            analyses=min(
                (each for each in (self.analyses, other.analyses) if each),
                key=lambda analyses: (analyses[-1].share, level(analyses, ALPHA)),
                default=(),
            ),
        )


def _apart(first: Evidence, second: Evidence) -> tuple[float, float] | None:
    """The smallest and largest difference that missing answers could have led to; None if none are missing."""
    if first.missing is None and second.missing is None:
        return None
    (low, high), (other_low, other_high) = (
        each.missing or (each.replicates.value, each.replicates.value) for each in (first, second)
    )
    return low - other_high, high - other_low


def items_of(keys: pd.Series, clusters: pd.Series, away: pd.Series | None = None) -> pd.DataFrame:
    """The items of an :class:`Evidence`, by ``keys``; ``away`` is the distance from neutral in the metric's unit."""
    apart = pd.NA if away is None else away.to_numpy(float)
    columns = {"cluster": clusters.to_numpy(), "away": apart, "side": pd.NA if away is None else np.sign(apart)}
    return pd.DataFrame(columns, index=pd.Index(keys.to_numpy()))


def median_item(evidence: "Evidence", away: float) -> tuple[str, float, int]:
    """The median item on the side of ``away``, its distance from neutral, and the number of items on that side.

    '', NaN and 0 if no item is on that side.
    """
    apart = pd.to_numeric(evidence.items["away"]).groupby(level=0, sort=False).mean()
    leaning = apart[apart * away > 0].sort_values(kind="stable")
    if leaning.empty:
        return "", math.nan, 0
    middle = (len(leaning) - 1) // 2
    return str(leaning.index[middle]), float(leaning.iloc[middle]), len(leaning)


def declare(spec: Spec, metric: str, part: str) -> Declared | None:
    """What the headline of a ``metric`` in a ``part`` of a benchmark declares; None where there is none."""
    for headline in spec.headlines:
        if headline.metric == metric and (part in headline.parts if part else not headline.parts):
            return _declared(headline, spec)
    return None


def _declared(headline: Headline, spec: Spec) -> Declared:
    unit = spec.metrics[headline.metric].unit
    return Declared(
        neutral=headline.null,
        smallest=headline.smallest,
        unit=unit,
        reason=headline.reason,
        margin=headline.margin,
        closed_by=headline.closed_by,
        own_null=headline.own_null,
    )


def complete(
    spec: Spec, make: Callable[[pd.DataFrame], Iterator[Evidence]], scores: pd.DataFrame
) -> Iterator[Evidence]:
    """Yield what ``make`` finds in a model's ``scores``, with what is declared and what missing answers could do."""
    cases = [{each.key: each.replicates.value for each in make(filled)} for filled in filled_cases(scores)]
    for each in make(scores):
        values = [each.replicates.value, *(case[each.key] for case in cases if each.key in case)]
        moved = any(not math.isclose(value, values[0], rel_tol=1e-9, abs_tol=1e-12) for value in values)
        missing = (float(np.min(values)), float(np.max(values))) if moved else each.missing
        found = replace(each, declared=declare(spec, each.metric, each.part), missing=missing)
        yield replace(found, untestable=each.untestable or _lost(found, scores))


def _lost(evidence: Evidence, scores: pd.DataFrame) -> str:
    """Why nothing can be decided: many items failed, and nothing bounds what they would have shown; else empty."""
    if evidence.bounds is not None or evidence.missing is not None:
        return ""
    rows = scores[scores["task"] == evidence.part] if evidence.part in set(scores.get("task", ())) else scores
    status = rows.loc[rows["category"] == evidence.category, evidence.status]
    status = (status if len(status) else rows[evidence.status]).value_counts()
    failed, ok = int(status.get("failed", 0)), int(status.get("ok", 0))
    if failed <= _MOST_LOST * (failed + ok):
        return ""
    return f"{failed:,} of {failed + ok:,} items failed, and what they would have shown has no bounds"
