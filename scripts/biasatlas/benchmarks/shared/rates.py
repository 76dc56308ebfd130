"""Percentages of independent units, and rates of answers that are none."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, row
from biasatlas.stats.intervals import wilson

#: Rate -> the columns of scores, probability masses, that it adds up.
_RATES = {
    "refusal_rate": ["refused"],
    "unparseable_rate": ["unparseable"],
    "unanswered_rate": ["refused", "unparseable"],
}


def percentage(values: pd.Series) -> Estimate:
    """Mean of the known ``values`` (each in [0, 1]) in percent, with a 95 % Wilson interval: units are independent."""
    values = values.dropna().astype(float)
    low, high = wilson(values.sum(), len(values))
    return Estimate(100 * values.mean(), 100 * low, 100 * high, len(values))


@metric(*_RATES)
def answer_rates(
    keys: Mapping[str, object], scores: pd.DataFrame, estimate: Callable[[pd.Series], Estimate] = percentage
) -> list[dict[str, object]]:
    """Rows of a table with the rates at which prompts were refused, could not be read, and either of them.

    Each is the mean probability (column ``refused``, ``unparseable`` or their sum) over the items that have an answer
    of any sort, in percent (0 to 100); ``estimate`` gives it its interval. What a rate measures is not counted as left
    out of it.
    """
    counts = Counts.of(scores["status"])
    return [
        row(keys, rate, estimate(scores[masses].sum(axis=1, skipna=False)), replace(counts, **dict.fromkeys(masses, 0)))
        for rate, masses in _RATES.items()
    ]
