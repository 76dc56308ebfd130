"""Means and variances of pairs of measurements, for many columns and resamples at once."""

from dataclasses import dataclass, fields

import numpy as np

from biasatlas.stats import Array


@dataclass(frozen=True)
class Moments:
    """What a t-test or an effect size of pairs needs. Each is an array of shape (columns,) or (resamples, columns).

    ``n`` counts the pairs; variances are those of a sample (divided by n - 1) and missing where n is below 2;
    ``difference`` is second minus first.
    """

    n: Array
    first: Array
    second: Array
    difference: Array
    first_variance: Array
    second_variance: Array
    difference_variance: Array

    def columns(self, chosen: slice) -> "Moments":
        """Those of some columns."""
        return Moments(*(getattr(self, field.name)[..., chosen] for field in fields(self)))


def moments(first: Array, second: Array, counts: Array | None = None) -> Moments:
    """Moments of each column of ``first`` and ``second``, both (units, columns), leaving out pairs that lack a value.

    ``counts`` (resamples, units) says how often each unit occurs in each resample, as
    the jackknife leaves one out; without it every unit occurs once.
    """
    present = np.isfinite(first) & np.isfinite(second)
    weights = np.ones((1, len(present))) if counts is None else counts
    n = weights @ present

    def mean_and_variance(values: Array) -> tuple[Array, Array]:
        values = np.where(present, values, 0.0)
        # Centred first: perplexities run to 1e7, whose squares would leave few digits for the variance.
        centre = values.sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        values = np.where(present, values - centre, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = weights @ values / n
            variance = np.where(n > 1, (weights @ values**2 - n * mean**2) / (n - 1), np.nan)
        return mean + centre, np.maximum(variance, 0.0)

    parts = [mean_and_variance(values) for values in (first, second, second - first)]
    means, variances = zip(*parts, strict=True)
    arrays = (n, *means, *variances)
    return Moments(*(array[0] for array in arrays) if counts is None else arrays)
