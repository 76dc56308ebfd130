"""What DBB's tables share: groups of test instances, and ratios of sums over them with intervals."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from biasatlas.benchmarks.dbb.columns import DESIGN
from biasatlas.benchmarks.dbb.vocabulary import CATEGORIES
from biasatlas.benchmarks.shared.estimates import Estimate
from biasatlas.stats.clusters import proportion, ratio

#: What intervals are over.
(TEMPLATE,) = DESIGN["template"].scores

#: Numerator and denominator of each instance; what is missing counts as 0.
Ratio = tuple[pd.Series | np.ndarray, pd.Series | np.ndarray]

#: (key columns, instances)
Groups = Iterator[tuple[dict[str, str], pd.DataFrame]]

#: Least and largest ratio of a single instance.
Bounds = tuple[float, float]
SHARE: Bounds = (0, 1)
POINTS: Bounds = (0, 100)


def by_category(scores: pd.DataFrame) -> Groups:
    """The instances of every model and category; those of all categories come first."""
    for model, of_model in scores.groupby("model", sort=False):
        yield {"model": model, "category": "All"}, of_model
        for category in CATEGORIES:
            of_category = of_model[of_model["category"] == category]
            if len(of_category):
                yield {"model": model, "category": category}, of_category


def by_type(scores: pd.DataFrame) -> Groups:
    """The instances of every model, category and descriptor type."""
    for model, of_model in scores.groupby("model", sort=False):
        for category in CATEGORIES:
            for type_, of_type in of_model[of_model["category"] == category].groupby("type", sort=True):
                yield {"model": model, "category": category, "type": type_}, of_type


def ratio_estimates(
    instances: pd.DataFrame, ratios: Mapping[str, Ratio], bounds: Bounds = SHARE, scale: float = 1.0
) -> dict[str, Estimate]:
    """Metric -> sum of the numerators over ``instances`` by sum of the denominators; ``n`` counts those scored.

    ``bounds`` are what the ratio of one instance can be; shares (0 to 1) have the interval of a rate. Intervals are over
    question templates, for the 67 instances of a template share its sentences: they say how far a value would move with
    other templates of this kind, with the draws at hand.
    """
    codes, _ = pd.factorize(instances[TEMPLATE])
    n = int((instances["status"] == "ok").sum())
    estimates = {}
    for metric, (numerator, denominator) in ratios.items():
        top, bottom = (np.nan_to_num(np.asarray(part, float)) for part in (numerator, denominator))
        inference = proportion(top, bottom, codes) if bounds == SHARE else ratio(top, bottom, codes, bounds)
        estimates[metric] = Estimate.of(inference, n, scale)
    return estimates
