"""Percentages of clustered units, and rates of answers that are none."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, row
from biasatlas.columns import STOPPED
from biasatlas.stats.clusters import proportion

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
