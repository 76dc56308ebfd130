"""What DBB's tables share: groups of test instances, and ratios of sums over them with intervals."""

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import pandas as pd

from biasatlas.benchmarks.dbb.vocabulary import CATEGORIES
from biasatlas.benchmarks.shared.estimates import Estimate
from biasatlas.stats.intervals import MIN_UNITS, percentile, resample_counts

#: Numerator and denominator of each instance; what is missing counts as 0.
Ratio = tuple[pd.Series | np.ndarray, pd.Series | np.ndarray]

#: (key columns, instances)
Groups = Iterator[tuple[dict[str, str], pd.DataFrame]]

#: All groups have the same templates, so the same resamples serve them all.
_resample_counts = cache(resample_counts)


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


def ratio_estimates(instances: pd.DataFrame, ratios: Mapping[str, Ratio]) -> dict[str, Estimate]:
    """Metric -> sum of the numerators over ``instances`` by sum of the denominators; ``n`` counts those scored.

    Intervals are percentile intervals of a bootstrap over question templates, for the 67 instances of a template share
    its sentences: they say how far a value would move with other templates of this kind, with the draws at hand. Missing
    below ``MIN_UNITS`` templates.
    """
    codes, templates = pd.factorize(instances["template_id"])
    parts = [np.nan_to_num(np.asarray(part, float)) for ratio in ratios.values() for part in ratio]
    sums = np.column_stack([np.bincount(codes, part, len(templates)) for part in parts])
    with np.errstate(invalid="ignore", divide="ignore"):
        total = sums.sum(axis=0)
        values = total[::2] / total[1::2]
        bounds = np.full((2, len(values)), np.nan)
        if len(templates) >= MIN_UNITS:
            resampled = _resample_counts(len(templates)) @ sums
            bounds = percentile(resampled[:, ::2] / resampled[:, 1::2])
    n = int((instances["status"] == "ok").sum())
    return {
        metric: Estimate(*map(float, estimate), n) for metric, *estimate in zip(ratios, values, *bounds, strict=True)
    }
