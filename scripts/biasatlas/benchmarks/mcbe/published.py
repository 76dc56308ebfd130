"""Recompute the paper's statistics from the scores it prints: no model is asked.

Each function takes ``published``, which reads ``resources/published/{name}.csv`` as strings, and returns rows with the
columns ``table`` (where the number is printed), ``key`` (what it is of, or the reading), ``match`` (yes or no, to the
printed digit) and those of every table.
"""

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
import scipy

from biasatlas.files import TABLE_COLUMNS

Published = Callable[[str], pd.DataFrame]

COLUMNS = ["table", "key", "match", *TABLE_COLUMNS]

#: What the paper prints in its text; the tables and figures are in resources/published.
FRIEDMAN_PRINTED = {"chi_square": "84.27", "p_value": "7.26e-14"}
TABLE13_MEAN_PRINTED = "83.7"
QWEN_SS_PRINTED = {"0.5B": "87.69", "1.5B": "80.49", "7B": "77.82", "32B": "77.11"}


def correlations(published: Published) -> pd.DataFrame:
    """Table 12: Spearman and Pearson between the scores under two prompt sets, nine points a task, with p-values."""
    scores = published("mcbe_robustness").astype({"score": float})
    printed = published("mcbe_robustness_correlation").set_index(["task", "coefficient"])
    rows = []
    for task, of_task in scores.groupby("task", sort=False):
        wide = of_task.pivot(index=["category", "model"], columns="prompt", values="score")
        for name, test in (("spearman", scipy.stats.spearmanr), ("pearson", scipy.stats.pearsonr)):
            result = test(wide["original"], wide["new"])
            for metric, value, column in (
                ("coefficient", result.statistic, "value"),
                ("p_value", result.pvalue, "p_value"),
            ):
                rows.append(
                    _row("Table 12", f"{task}, {name}", metric, value, len(wide), printed.loc[(task, name), column])
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def judge_agreement(published: Published) -> pd.DataFrame:
    """Table 13: mean rate at which judge and people prefer the same of two models."""
    rates = published("mcbe_judge_agreement")["consistent_rate_percent"].astype(float)
    row = _row("Table 13", "mean", "mean_agreement_percent", rates.mean(), len(rates), TABLE13_MEAN_PRINTED)
    return pd.DataFrame([row], columns=COLUMNS)


def qwen_scenario_selection(published: Published) -> pd.DataFrame:
    """Figure 7's SS means of Qwen2.5 by size: plain means over the eleven categories."""
    cells = score_cells(published)
    rows = []
    for size, printed in QWEN_SS_PRINTED.items():
        scores = cells.xs(("SS", f"Qwen2.5-{size}-Instruct"), level=("task", "model")).dropna()
        rows.append(_row("Figure 7", f"SS of Qwen2.5-{size}", "mean_score", scores.mean(), len(scores), printed))
    return pd.DataFrame(rows, columns=COLUMNS)


def friedman(published: Published) -> pd.DataFrame:
    """The Friedman test over models under each reading of its blocks, which the paper does not state."""
    rows = []
    for reading, blocks in friedman_blocks(score_cells(published)).items():
        result = scipy.stats.friedmanchisquare(*blocks.to_numpy().T)
        for metric, value in (("chi_square", result.statistic), ("p_value", result.pvalue)):
            rows.append(_row("Friedman test", reading, metric, value, len(blocks), FRIEDMAN_PRINTED[metric]))
    return pd.DataFrame(rows, columns=COLUMNS)


def score_cells(published: Published) -> pd.Series:
    """The printed scores by (category, task, model)."""
    return published("mcbe_scores").astype({"score": float}).set_index(["category", "task", "model"])["score"]


def friedman_blocks(cells: pd.Series) -> dict[str, pd.DataFrame]:
    """Reading -> its blocks (rows) by models (columns), complete.

    Twelve of the 605 printed cells could not be read: a mean is over those that could, a block of single cells needs
    all. A cell that does not apply (PC of models behind an API, PC and SS of Worldview) is in no block, but is 0 in the
    reading that says so; there an unread cell is the model's mean in that task.
    """
    wide = cells.unstack("model")
    white_box = wide.columns[wide.xs("PC", level="task").notna().any()]
    unread = ["Health", "Appearance"]

    def means(level: str, part: pd.DataFrame = wide) -> pd.DataFrame:
        return part.groupby(level=level, sort=False).mean()

    def task(name: str) -> pd.DataFrame:
        return wide.xs(name, level="task").dropna()

    per_task = wide.groupby(level="task").transform("mean")
    applies = pd.DataFrame(True, index=wide.index, columns=wide.columns)
    applies.loc[(slice(None), "PC"), wide.columns.difference(white_box)] = False
    zeros = wide.where(wide.notna(), per_task).where(applies, 0.0)
    grid = pd.MultiIndex.from_product(
        [zeros.index.unique("category"), zeros.index.unique("task")], names=["category", "task"]
    )
    complete = wide.dropna()
    category_means = means("category")
    return {
        "category means over the tasks that apply": category_means,
        "category means without Health and Appearance": category_means.drop(unread),
        "category means without PC": means("category", wide.drop("PC", level="task")),
        "category means, what does not apply as 0": means("category", zeros.reindex(grid, fill_value=0.0)),
        "category-by-task cells": complete,
        "category-by-task cells without Health and Appearance": complete.drop(unread, level="category"),
        "category-by-task cells, white-box models": wide[white_box].dropna(),
        "SC alone": task("SC"),
        "SS alone": task("SS"),
        "BA alone": task("BA"),
        "BS alone": task("BS"),
        "task means": means("task", wide.drop("PC", level="task")),
    }


def _row(table: str, key: str, metric: str, value: float, n: int, printed: str) -> dict:
    return {
        "table": table,
        "key": key,
        "match": "yes" if _rounds_to(value, printed) else "no",
        "metric": metric,
        "value": float(value),
        "ci_low": np.nan,
        "ci_high": np.nan,
        "n": n,
        "refused": 0,
        "unparseable": 0,
        "missing": 0,
        "published": printed,
        "difference": float(value) - float(printed),
    }


def _rounds_to(value: float, printed: str) -> bool:
    """Whether ``value`` rounds to ``printed`` at its own last digit; a 0 stands for anything below 1e-6."""
    if float(printed) == 0:
        return abs(value) < 1e-6
    half = Decimal(5).scaleb(Decimal(printed).as_tuple().exponent - 1)
    return abs(Decimal(repr(float(value))) - Decimal(printed)) <= half
