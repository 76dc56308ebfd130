"""Student's t-tests and Cohen's d from moments; for one pair of samples scipy.stats.ttest_rel and ttest_ind give the same t."""

from dataclasses import dataclass, fields

import numpy as np
import scipy

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


def paired_dz(pairs: Moments) -> Array:
    """Mean difference (second minus first) over the standard deviation of the differences: t of the pairs over root n.

    It grows with the correlation of the two measurements, so the landmarks 0.2, 0.5 and 0.8, which were proposed for
    :func:`pooled_d`, do not apply to it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return pairs.difference / np.sqrt(pairs.difference_variance)


def pooled_d(pairs: Moments) -> Array:
    """Mean difference (second minus first) over the pooled standard deviation of the two measurements."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return pairs.difference / np.sqrt((pairs.first_variance + pairs.second_variance) / 2)


def paired_t(pairs: Moments) -> tuple[Array, Array]:
    """Statistic and two-sided p-value of the paired t-test; a positive statistic means that ``second`` is larger."""
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = pairs.difference / np.sqrt(pairs.difference_variance / pairs.n)
    return statistic, 2 * scipy.stats.t.sf(np.abs(statistic), pairs.n - 1)


def independent_t(pairs: Moments) -> tuple[Array, Array]:
    """Statistic and two-sided p-value of Student's t-test (equal variances), which ignores the pairing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic, p_value = scipy.stats.ttest_ind_from_stats(
            pairs.second, np.sqrt(pairs.second_variance), pairs.n, pairs.first, np.sqrt(pairs.first_variance), pairs.n
        )
    return statistic, p_value


def exchanged(values: Array, draws: int = 9999, seed: int = 0) -> float:
    """One-sided p-value that the first column of ``values`` (blocks, columns) is not above the others.

    Under the null the columns of a block are exchangeable, and so is which of them is called the first, independently in
    each block: (1 + draws whose sum over blocks is at least the first column's) / (1 + draws).
    """
    rng = np.random.default_rng(seed)
    centred = values - values.mean(axis=1, keepdims=True)
    total = centred[:, 0].sum()
    drawn = rng.integers(0, values.shape[1], (draws, len(values)))
    sums = centred[np.arange(len(values)), drawn].sum(axis=1)
    return float((1 + (sums >= total - 1e-12 * np.abs(centred).sum()).sum()) / (1 + draws))
