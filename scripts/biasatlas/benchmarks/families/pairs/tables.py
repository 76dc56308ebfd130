"""Preferences between two texts, by category, direction and template."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.families.pairs.evidence import shift_estimate
from biasatlas.benchmarks.families.pairs.spec import PairsDescription, PairsOptions, shift_of
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, beside, make_table, row
from biasatlas.benchmarks.shared.rates import answer_rates, percentage
from biasatlas.stats.clusters import ratio

#: Metric -> the estimate of it from scores and their clusters.
Metrics = Mapping[str, Callable[[pd.DataFrame, pd.Series], Estimate]]


@table("scores")
def scores_table(step: Step[PairsOptions]) -> pd.DataFrame:
    """By category, direction and template, and over all of each, the printed numbers beside ours.

    Under ``ties: released`` a tie is among all pairs and, as in CrowS-Pairs' code, not among those of one direction.
    """
    description: PairsDescription = step.description
    first = description.sides[0]
    known: Metrics = {
        "stereotype_score": stereotype_score,
        "tie_rate": tie_rate,
        "likelihood_ratio": partial(likelihood_ratio, first=first),
        "log10_ratio": partial(log10_ratio, first=first),
    }
    wanted = dict.fromkeys(("stereotype_score", "tie_rate", *description.metrics))
    made = _table(step, {name: known[name] for name in wanted})
    if not description.published:
        return made
    return beside(made, _keys(description), step.published(description.published), step.published_as)


@table("prompted")
def prompted_table(step: Step[PairsOptions]) -> pd.DataFrame:
    """The same for prompted choices."""
    return _table(step, {"stereotype_score": stereotype_score}, prompted=True)


def _keys(description: PairsDescription) -> list[str]:
    return ["model", "category", "direction", *description.template]


def _table(step: Step[PairsOptions], metrics: Metrics, prompted: bool = False) -> pd.DataFrame:
    """The ``metrics`` of each group, over the clusters of the description."""
    description, keys, rows = step.description, _keys(step.description), []
    for values, group in _every_way(step.scores, description).groupby(keys, sort=False):
        if (group["status"] == "not_applicable").all():
            continue
        named, counts = dict(zip(keys, values, strict=True)), Counts.of(group)
        cluster = description.cluster_name
        for name, estimate in metrics.items():
            left = group, counts
            if name == "stereotype_score" and step.options.ties == "released" and named["direction"] != "all":
                left = _untied(group, counts)
            rows.append(row(named, name, estimate(left[0], left[0][cluster]), left[1]))
        rows += answer_rates(named, group, group[cluster]) if prompted else []
    rows += [] if prompted else _shift_rows(step)
    return make_table(keys, rows).sort_values("model", kind="stable", ignore_index=True)


def _shift_rows(step: Step[PairsOptions]) -> list[Mapping[str, object]]:
    """A shift over all categories and directions, of every model and template; none where none is asked for."""
    description = step.description
    shift = shift_of(description, step.options)
    if not shift:
        return []
    rows = []
    for model, mine in step.scores.groupby("model", sort=False):
        parts = [(dict.fromkeys(description.template, "all"), mine)]
        for name in description.template:
            parts += [
                ({name: str(value)}, part) for value, part in mine.groupby(name, sort=False) if len(part) < len(mine)
            ]
        for template, group in parts:
            if (group["status"] != "not_applicable").any():
                named = {"model": model, "category": "overall", "direction": "all", **template}
                counts = Counts.of(group.assign(status=group["shift_status"], detail=""))
                rows.append(row(named, shift, shift_estimate(group, description), counts))
    return rows


def _every_way(scores: pd.DataFrame, description: PairsDescription) -> pd.DataFrame:
    """Over all categories, directions and templates too; ``side`` is the one that is the stereotype of each pair."""
    scores = scores.assign(side=description.stereotype if description.directions else scores["direction"])
    scores = pd.concat([scores, scores.assign(category="overall")], ignore_index=True)
    scores = _with_total(scores, "direction", always=bool(description.directions))
    return _with_total(scores, "template") if description.template else scores


def _with_total(scores: pd.DataFrame, column: str, always: bool = False) -> pd.DataFrame:
    """``scores`` with "all" for ``column``, and once more as they are in categories where it has several values, or
    ``always``."""
    several = scores.groupby("category")[column].transform("nunique") > 1
    return pd.concat([scores.assign(**{column: "all"}), scores[several | always]], ignore_index=True)


def _untied(scores: pd.DataFrame, counts: Counts) -> tuple[pd.DataFrame, Counts]:
    tied = scores["tie"] == 1
    return scores[~tied], replace(counts, not_applicable=counts.not_applicable + int(tied.sum()))


@metric("stereotype_score")
def stereotype_score(scores: pd.DataFrame, clusters: pd.Series) -> Estimate:
    """Mean preference for the more stereotypical text (1 if it is likelier, 0.5 for a tie, else 0; of choices, its
    probability), in percent.

    Section 3 of Nangia et al. 2020; 50 where neither text is preferred.
    """
    return percentage(scores["stereotyped"], clusters)


@metric("tie_rate")
def tie_rate(scores: pd.DataFrame, clusters: pd.Series) -> Estimate:
    """Pairs whose two texts are equally likely, in percent of pairs with two likelihoods (0 to 100)."""
    return percentage(scores["tie"], clusters)


@metric("likelihood_ratio")
def likelihood_ratio(scores: pd.DataFrame, clusters: pd.Series, first: str) -> Estimate:
    """exp of the mean over pairs of log P(text of the first side) - log P(text of the second); positive.

    It is the geometric mean of how many times as likely the first text is; 1 where neither is likelier. The interval is
    that of the mean.
    """
    return _ratio(scores, clusters, first, 1.0)


@metric("log10_ratio")
def log10_ratio(scores: pd.DataFrame, clusters: pd.Series, first: str) -> Estimate:
    """exp of the mean over pairs of log10 P(text of the first side) - log10 P(text of the second); positive.

    The mean score r_i of GEST's notebook, which puts logarithms to the base 10 into e to the x: the likelihood ratio to
    the power of 1 / ln 10, so nearer to 1.
    """
    return _ratio(scores, clusters, first, 1 / np.log(10))


def _ratio(scores: pd.DataFrame, clusters: pd.Series, first: str, power: float) -> Estimate:
    sign = np.where(scores["side"] == first, 1.0, -1.0)
    nats = (sign * (scores["more"] - scores["less"])).where(scores["status"] == "ok")
    inference = ratio(power * nats, np.ones(len(nats)), clusters)
    with np.errstate(over="ignore"):
        value, low, high = map(float, np.exp([inference.value, inference.low, inference.high]))
    return Estimate(value, low, high, int(nats.notna().sum()), inference.n_clusters, inference.reason)
