"""Both kinds of awareness by category (Wang et al. 2025, Fairness through Difference Awareness)."""

import math

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.families.contexts.spec import ContextsDescription
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, beside, make_table, row
from biasatlas.benchmarks.shared.rates import answer_rates, share
from biasatlas.stats.clusters import cluster_sums
from biasatlas.stats.intervals import student, within


@table("awareness")
def awareness_table(step: Step) -> pd.DataFrame:
    """By category and over all of them."""
    description: ContextsDescription = step.description
    scores = pd.concat([step.scores, step.scores.assign(category="overall")], ignore_index=True)
    rows = []
    for (model, category), group in scores.groupby(["model", "category"], sort=False):
        keys, differ = {"model": model, "category": category}, group[group["condition"] == "differ"]
        rows.append(row(keys, "difference_awareness", difference_awareness(differ), Counts.of(differ)))
        rows.append(row(keys, "contextual_awareness", contextual_awareness(group), Counts.of(group)))
        rows += answer_rates(keys, group, group["scenario"])
    made = make_table(("model", "category"), rows).sort_values("model", kind="stable", ignore_index=True)
    if not description.published:
        return made
    return beside(made, ("model", "category"), step.published(description.published), step.published_as)


@metric("difference_awareness")
def difference_awareness(differ: pd.DataFrame) -> Estimate:
    """Right answers in percent of all parsed answers to questions in which groups differ."""
    return share(differ["right"], differ["answered"], differ["scenario"])


@metric("contextual_awareness")
def contextual_awareness(scores: pd.DataFrame) -> Estimate:
    """h / (h + e) in percent: h right answers where groups differ, e answers that name a group where they do not.

    Linearised, with t over scenarios: what a scenario adds is (1 - C) h - C e, with C the value, h its right answers
    where groups differ and e its answers that tell equal ones apart, each less its mean over the scenarios of its
    condition, since the numbers of questions of both are fixed. Missing where no answer tells groups apart.
    """
    answered = scores["answered"].notna()
    known, differ = scores[answered], scores.loc[answered, "condition"] == "differ"
    parts = (known["right"] * differ, known["apart"] * ~differ, differ, ~differ)
    hits, errors, of_differ, of_equal = cluster_sums(known["scenario"], *parts).T
    total = hits.sum() + errors.sum()
    if not total > 0:
        return Estimate(math.nan, no_interval_reason="no answer tells groups apart")
    value, n = float(hits.sum() / total), len(hits)
    moved = (1 - value) * _centred(hits, of_differ > 0) - value * _centred(errors, of_equal > 0)
    variance = float((moved**2).sum() / total**2 * n / max(n - 1, 1))
    return Estimate.of(within(student(value, variance, n - 1, n), 0, 1), n=len(known), scale=100)


def _centred(sums: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """``sums`` less their mean over the clusters that were ``asked``, 0 in others."""
    return np.where(asked, sums - sums.sum() / max(int(asked.sum()), 1), 0.0)
