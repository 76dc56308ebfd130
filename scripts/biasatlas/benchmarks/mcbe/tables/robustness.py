"""Agreement of two wordings of the same task (Table 12)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from biasatlas.benchmarks.contract import metric, table
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.mcbe.vocabulary import CATEGORY_NAMES
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, Published, make_table, row

_ITEM = ["model", "category", "item_id"]
#: Names in scipy.stats, which is not imported before a table needs it.
_TESTS = {"spearman": "spearmanr", "pearson": "pearsonr"}
_NO_INTERVAL = {"spearman": "of Pearson's alone", "pearson": "fewer than four points, or all on a line"}


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

    Rows for tasks asked in both wordings; ``n`` counts ``points``: "all", or those in the three categories of the paper.
    The printed number stands beside the paper's own nine points, of its three models in these.
    """
    printed = published("mcbe_robustness_correlation").set_index(["task", "coefficient"])
    its = published("mcbe_robustness")
    categories = [name for name, in_print in CATEGORY_NAMES.items() if in_print in set(its["category"])]
    means = scores.groupby(["task", "model", "category", "prompt_set"])["score"].mean().unstack("prompt_set")
    rows = []
    if "alternative" in means:
        for task, points in means.dropna().groupby(level="task", sort=False):
            three = points[points.index.get_level_values("category").isin(categories)]
            models = {published_as.get(model) for model in three.index.unique("model")}
            nine = models == set(its["model"]) and len(three) == len(models) * len(categories)
            for name, chosen in (("all", points), (", ".join(categories), three)):
                keys = {"task": task, "points": name}
                numbers = printed.loc[task] if nine and chosen is three else None
                rows += _rows(keys, chosen, _not_scored(scores, task, chosen), numbers)
    return make_table(("task", "points"), rows)


def _not_scored(scores: pd.DataFrame, task: str, points: pd.DataFrame) -> Counts:
    """The items behind ``points`` that have no score under either wording, by model."""
    rows = scores[(scores["task"] == task) & scores["category"].isin(points.index.unique("category"))]
    scored = rows.groupby(_ITEM)["score"].transform("count") > 0
    return Counts.of(rows[~scored].drop_duplicates(_ITEM))


def _rows(
    keys: Mapping[str, str], points: pd.DataFrame, counts: Counts, printed: pd.DataFrame | None
) -> Iterator[dict[str, object]]:
    for name, found in correlations(points["original"], points["alternative"]).items():
        numbers = {} if printed is None else printed.loc[name]
        reason = "" if np.isfinite(found.ci_low) else _NO_INTERVAL[name]
        coefficient = Estimate(found.value, found.ci_low, found.ci_high, len(points), len(points), reason)
        yield row(keys, name, coefficient, counts, numbers.get("value"))
        yield row(keys, f"{name}_p", Estimate(found.p_value, n=len(points)), counts, numbers.get("p_value"))


@metric("spearman", "spearman_p", "pearson", "pearson_p")
def correlations(original: pd.Series, alternative: pd.Series) -> dict[str, Correlation]:
    """Spearman's and Pearson's correlation of paired scores; missing below three pairs, or where a side is constant."""
    if len(original) < 3 or original.nunique() < 2 or alternative.nunique() < 2:
        return dict.fromkeys(_TESTS, Correlation(np.nan, np.nan))
    results = {name: getattr(scipy.stats, test)(original, alternative) for name, test in _TESTS.items()}
    # Points on a line have an interval of no width; of three it is all that there is.
    told = len(original) > 3 and abs(results["pearson"].statistic) < 1 - 1e-12
    intervals = {"pearson": results["pearson"].confidence_interval()} if told else {}
    return {
        name: Correlation(result.statistic, result.pvalue, *intervals.get(name, ())) for name, result in results.items()
    }
