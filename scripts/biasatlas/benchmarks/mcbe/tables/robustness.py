"""Agreement of two wordings of the same task (Table 12)."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.shared.estimates import Estimate, Published, make_table, row

_TESTS = {"spearman": scipy.stats.spearmanr, "pearson": scipy.stats.pearsonr}


class Correlation(NamedTuple):
    """A coefficient, -1 to 1, its two-sided p-value, and its interval (of Pearson's alone)."""

    value: float
    p_value: float
    ci_low: float = np.nan
    ci_high: float = np.nan


@table("robustness")
def robustness(
    scores: pd.DataFrame, options: McBEOptions, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Table 12: correlation between the scores under both wordings, over models and categories, by task.

    Rows for tasks asked in both wordings; ``n`` counts points. ``published`` is of the paper's own nine points.
    """
    printed = published("mcbe_robustness_correlation").set_index(["task", "coefficient"])["value"]
    means = scores.groupby(["task", "model", "category", "prompt_set"])["score"].mean().unstack("prompt_set")
    rows = []
    if "alternative" in means:
        for task, points in means.dropna().groupby(level="task", sort=False):
            for name, found in correlations(points["original"], points["alternative"]).items():
                coefficient = Estimate(found.value, found.ci_low, found.ci_high, len(points))
                rows.append(row({"task": task}, name, coefficient, published=printed.get((task, name))))
                rows.append(row({"task": task}, f"{name}_p", Estimate(found.p_value, n=len(points))))
    return make_table(("task",), rows)


@metric("spearman", "spearman_p", "pearson", "pearson_p")
def correlations(original: pd.Series, alternative: pd.Series) -> dict[str, Correlation]:
    """Spearman's and Pearson's correlation of paired scores; missing below three pairs, or where a side is constant."""
    if len(original) < 3 or original.nunique() < 2 or alternative.nunique() < 2:
        return dict.fromkeys(_TESTS, Correlation(np.nan, np.nan))
    results = {name: test(original, alternative) for name, test in _TESTS.items()}
    intervals = {"pearson": results["pearson"].confidence_interval()}
    return {
        name: Correlation(result.statistic, result.pvalue, *intervals.get(name, ())) for name, result in results.items()
    }
