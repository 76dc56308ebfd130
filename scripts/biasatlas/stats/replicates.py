"""Estimates with their values without each cluster: enough to test an estimate, and to compare two.

Two models that answer the same items share the items' peculiarities, so their difference varies far less than its
parts. The values without each cluster show how the two vary together, whatever function of the answers they are.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from biasatlas.stats import Array
from biasatlas.stats.clusters import agreeing, cluster_sums
from biasatlas.stats.intervals import Inference, crossed, student


@dataclass(frozen=True)
class Replicates:
    """An estimate: its ``value``; that ``without`` each cluster, by label; and each cluster's ``pull``, its share of
    the weight (they sum to 1).

    The variance is sum (1 - pull) (without - value)^2. For a mean or ratio with the pull as weights, this is CR2; for
    other smooth functions, with equal pull, it is the delete-a-group jackknife. Degrees of freedom are ``df`` if given,
    else Bell and McCaffrey's for these weights (clusters - 1 if they are equal).
    """

    value: float
    without: pd.Series
    pull: pd.Series
    df: float | None = None

    @property
    def factors(self) -> dict[str, int]:
        """How many levels the sampled factor has."""
        return {"clusters": len(self.without)}

    def inference(self) -> Inference:
        """The estimate with its interval, or why it has none."""
        pull, variance = self.pull.to_numpy(float), float(self.parts().sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            products = pull**2 / (1 - pull)
            df = 1 / ((pull**2).sum() + products.sum() ** 2 - (products**2).sum())
        return student(self.value, variance, float(df) if self.df is None else self.df, len(self.without))

    def parts(self) -> Array:
        """What each cluster adds to the variance."""
        moved = self.without.to_numpy(float) - self.value
        moved[np.abs(moved) < 1e-12 * max(abs(self.value), 1e-300)] = 0.0
        return (1 - self.pull.to_numpy(float)) * moved**2

    def own(self) -> Array:
        """What each cluster adds to the value, where that is a mean or a ratio."""
        return self.value - (1 - self.pull.to_numpy(float)) * self.without.to_numpy(float)

    def minus(self, other: "Replicates | Crossed") -> "Replicates":
        """This minus ``other``, which has the same clusters. Raises ValueError if these differ."""
        if isinstance(other, Crossed):
            raise ValueError("the estimates are of different factors")
        if not self.without.index.sort_values().equals(other.without.index.sort_values()):
            raise ValueError("the estimates are of different clusters")
        df = None if self.df is None or other.df is None else min(self.df, other.df)
        return Replicates(self.value - other.value, self.without - other.without, (self.pull + other.pull) / 2, df)

    def times(self, scale: float) -> "Replicates":
        """The estimate in another unit."""
        return Replicates(scale * self.value, scale * self.without, self.pull, self.df)


@dataclass(frozen=True)
class Crossed:
    """One estimate over several sampled factors: its replicates ``by`` each set of them.

    A set is a tuple of names; rows that agree in all of these factors are a cluster. Properties and methods that need a
    single sort of cluster use the factor with the fewest levels.
    """

    by: Mapping[tuple[str, ...], Replicates]

    @property
    def value(self) -> float:
        return self._coarsest.value

    @property
    def without(self) -> pd.Series:
        return self._coarsest.without

    @property
    def pull(self) -> pd.Series:
        return self._coarsest.pull

    @property
    def factors(self) -> dict[str, int]:
        """How many levels each sampled factor has."""
        return {names[0]: len(part.without) for names, part in self.by.items() if len(names) == 1}

    @property
    def _coarsest(self) -> Replicates:
        alone = (part for names, part in self.by.items() if len(names) == 1)
        return min(alone, key=lambda part: len(part.without))

    def parts(self) -> Array:
        """What each cluster of the factor with the fewest levels adds to its variance."""
        return self._coarsest.parts()

    def own(self) -> Array:
        """What each of these clusters adds to the value."""
        return self._coarsest.own()

    def inference(self) -> Inference:
        """The estimate with its interval over all factors, or why it has none."""
        return crossed({names: part.inference() for names, part in self.by.items()})

    def minus(self, other: "Replicates | Crossed") -> "Crossed":
        """This minus ``other``, which has the same clusters. Raises ValueError if these differ."""
        if not isinstance(other, Crossed) or self.by.keys() != other.by.keys():
            raise ValueError("the estimates are of different factors")
        return Crossed({names: part.minus(other.by[names]) for names, part in self.by.items()})

    def times(self, scale: float) -> "Crossed":
        """The estimate in another unit."""
        return Crossed({names: part.times(scale) for names, part in self.by.items()})


def crossed_replicates(make: Callable[[Array], Replicates], factors: Mapping[str, ArrayLike]) -> Crossed:
    """The result of ``make`` for the rows' clusters, by every set of ``factors`` (name -> labels of the same rows)."""
    return Crossed({names: make(labels) for names, labels in cluster_sets(factors)})


def cluster_sets(factors: Mapping[str, ArrayLike]) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Yield every non-empty set of ``factors``, as their names, and each row's cluster: rows alike in all of them."""
    texts = {name: pd.Series(np.asarray(values)).astype(str).fillna("") for name, values in factors.items()}
    for size in range(1, len(factors) + 1):
        for names in itertools.combinations(factors, size):
            if size == 1:
                yield names, np.asarray(factors[names[0]])
            else:
                first, *others = (texts[name] for name in names)
                yield names, first.str.cat(others, sep="\0").to_numpy(object)


def ratio_replicates(numerator: ArrayLike, denominator: ArrayLike, clusters: ArrayLike) -> Replicates:
    """Replicates of the sum of ``numerator`` over the sum of ``denominator`` (0 or more), rows in ``clusters``.

    Rows with a missing value and clusters without weight are left out.
    """
    top, bottom = np.asarray(numerator, float), np.asarray(denominator, float)
    known = np.isfinite(top) & np.isfinite(bottom)
    labels = np.asarray(clusters)[known]
    sums = cluster_sums(labels, top[known], bottom[known])
    names = pd.unique(pd.Series(labels).dropna())
    weighty = sums[:, 1] > 0
    (y, w), names = sums[weighty].T, names[weighty]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (y.sum() - y) / (w.sum() - w)
        value = float(y.sum() / w.sum()) if len(w) else np.nan
    index = pd.Index(names)
    return Replicates(value, pd.Series(without, index), pd.Series(w / w.sum(), index))


def bounded(made: Replicates | Crossed, bounds: tuple[float, float] | None) -> Inference:
    """The estimate with its interval, cut at ``bounds`` (None: none); exact if nearly all clusters agree."""
    return agreeing(made.inference(), made.own(), made.parts(), bounds)


def replicates(statistic: Callable[[Array], Array], sums: Array, clusters: ArrayLike) -> Replicates:
    """Replicates of ``statistic``, which maps (..., sums) to (..., 1), at the totals of ``sums``, (clusters, sums).

    ``clusters`` are their labels. Clusters whose sums are all 0 are left out.
    """
    there = (sums != 0).any(axis=1)
    sums, index = sums[there], pd.Index(np.asarray(clusters)[there])
    total = sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value, without = statistic(total), statistic(total - sums)
    even = pd.Series(1 / max(len(index), 1), index)
    return Replicates(float(np.ravel(value)[0]), pd.Series(np.reshape(without, len(index)), index), even)
