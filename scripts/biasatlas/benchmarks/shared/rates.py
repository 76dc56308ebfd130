"""Percentages of clustered units, rates of answers that are none, and what several benchmarks jackknife."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, row
from biasatlas.columns import STOPPED
from biasatlas.stats.clusters import cluster_sums, proportion
from biasatlas.stats.intervals import Inference, jackknife, replicated, within

#: Rate -> the columns of scores, probability masses, that it adds up.
_RATES = {
    "refusal_rate": ["refused"],
    "ambiguous_rate": ["ambiguous"],
    "unparseable_rate": ["unparseable"],
    "unanswered_rate": ["refused", "ambiguous", "unparseable"],
}


def percentage(values: pd.Series, clusters: pd.Series) -> Estimate:
    """Mean of the known ``values`` (each in [0, 1]) in percent, over ``clusters``; Korn and Graubard's interval."""
    return share(values, values.notna().astype(float), clusters)


def share(value: pd.Series, weight: pd.Series, clusters: pd.Series) -> Estimate:
    """sum(value) / sum(weight) in percent, of rows with both, whose ratio is in [0, 1]; ``n`` counts rows."""
    top, bottom = value.to_numpy(float), weight.to_numpy(float)
    known = ~np.isnan(top) & (bottom > 0)
    inference = proportion(top[known], bottom[known], clusters.to_numpy()[known])
    return Estimate.of(inference, n=int(known.sum()), scale=100)


def mean_of_means(parts: Sequence[pd.Series], clusters: Sequence[Iterable[Hashable]]) -> Inference:
    """The mean of the means of ``parts``, with a jackknife's interval over their ``clusters``, which they may share.

    A missing value is left out of its part; its cluster is not.
    """
    columns = np.zeros((sum(map(len, parts)), 2 * len(parts)))
    for number, (start, part) in enumerate(zip(np.cumsum([0, *map(len, parts)]), parts, strict=False)):
        columns[start : start + len(part), 2 * number] = part.fillna(0)
        columns[start : start + len(part), 2 * number + 1] = part.notna()
    shared = np.concatenate([np.asarray(each) for each in clusters])
    (inference,) = jackknife(_mean_of_means, cluster_sums(shared, *columns.T))
    return inference


def _mean_of_means(sums: np.ndarray) -> np.ndarray:
    """Mean over parts of sum / number, of ``sums`` (..., 2 parts)."""
    with np.errstate(invalid="ignore", divide="ignore"):  # a part of one cluster, left out
        return (sums[..., ::2] / sums[..., 1::2]).mean(axis=-1)[..., None]


def kappa_over_items(rows: np.ndarray, kappa: Callable[[np.ndarray], float]) -> Estimate:
    """``kappa`` of ``rows`` (an item each), -1 to 1, with a jackknife's interval over items."""
    without_each = [kappa(np.delete(rows, item, axis=0)) for item in range(len(rows))]
    (inference,) = replicated(np.array([kappa(rows)]), np.array(without_each)[:, None])
    return Estimate.of(within(inference, -1, 1), len(rows))


@metric(*_RATES)
def answer_rates(keys: Mapping[str, object], scores: pd.DataFrame, clusters: pd.Series) -> list[dict[str, object]]:
    """Rows of a table: rates at which prompts were refused, answered with several options, not read, and all of these.

    What a service's filter stopped is refused too, and what a model only thought is not read; the columns ``filtered``
    and ``thought`` of a table count each alone.

    Each is the mean probability (column ``refused``, ``ambiguous``, ``unparseable`` or their sum) over the items that
    have an answer of any sort, in percent (0 to 100), over ``clusters``. What a rate measures is not left out of it.
    """
    counts = Counts.of(scores)
    return [
        row(
            keys,
            rate,
            percentage(scores[masses].sum(axis=1, skipna=False), clusters),
            counts.without([*masses, *(status for status, mass in STOPPED.items() if mass in masses)]),
        )
        for rate, masses in _RATES.items()
    ]
