"""Estimates, had every answer that gave none, or failed, been the least biased one, or the most biased."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from biasatlas.columns import CASES, TABLE_COLUMNS


def with_missing_answer_bounds(make: Callable[[pd.DataFrame], pd.DataFrame], scores: pd.DataFrame) -> pd.DataFrame:
    """The table that ``make`` makes of ``scores``, with ``lower_bound`` and ``upper_bound``.

    Each is what the same function makes of scores whose columns with such a case (:data:`biasatlas.columns.CASES`) are
    replaced by it. Missing for a metric that no answer could change, or that has no such columns behind it.
    """
    table = make(scores)
    keys = [*table.columns[: -len(TABLE_COLUMNS)], "metric"]
    filled = {case: _filled(scores, case) for case in CASES}
    # Most models answer everything, and tables of large benchmarks take seconds to make.
    if all(values.equals(scores[name]) for columns in filled.values() for name, values in columns.items()):
        return table
    values = {}
    for case, columns in filled.items():
        found = table[keys].merge(make(scores.assign(**columns))[[*keys, "value"]], on=keys, how="left", validate="1:1")
        values[case.removeprefix("_")] = found["value"].to_numpy(float)
    ours = table["value"].to_numpy(float)  # of a table without rows it is an object
    same = np.logical_and.reduce([np.isclose(value, ours, equal_nan=True) for value in values.values()])
    moves = ~pd.Series(same, table.index).groupby(table["metric"]).transform("all")
    return table.assign(**{name: np.where(moves, value, np.nan) for name, value in values.items()})


def filled_cases(scores: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """``scores`` in each case that changes anything."""
    for case in CASES:
        columns = _filled(scores, case)
        if any(not values.equals(scores[name]) for name, values in columns.items()):
            yield scores.assign(**columns)


def _filled(scores: pd.DataFrame, case: str) -> dict[str, pd.Series]:
    """The columns that ``case`` could have moved, as they would be then."""
    names = [name for name in scores if name.endswith(case) and scores[name].notna().any()]
    return {name.removesuffix(case): scores[name].fillna(scores[name.removesuffix(case)]) for name in names}
