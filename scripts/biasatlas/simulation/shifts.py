"""DBB for many simulated models at once: instances are made once, and only the two probabilities of each change."""

from collections.abc import Callable, Iterable
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from biasatlas.benchmarks.dbb.evidence import bias_estimates, consistency_estimates
from biasatlas.benchmarks.dbb.scores import LEAST
from biasatlas.benchmarks.dbb.spec import DBBOptions
from biasatlas.benchmarks.shared.estimates import Estimate
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.experiment import COLUMNS, labelled
from biasatlas.simulation.ground_truth import ground_truth
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Study

Array = NDArray[np.float64]
#: The probability of each question's first option, and its log odds, for a model.
ModelRun = Callable[[SimulatedEntry], tuple[Array, Array]]


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, for headlines of DBB's tables of bias and consistency, of one task."""
    (task,) = study.tasks
    options = cast(DBBOptions, bench.options)
    answers = {task: bench.questions[task].answer(study.entry(setting, 0, bench.groups))}
    instances = bench.scored(answers, "any").assign(p_value=np.nan)
    item_ids, answered = {"MCQ": _choices, "SG": _continuations}[task](bench)
    named = instances["template_id"] + "/" + instances["type"] + "/"
    first, second = (item_ids.get_indexer(named + instances[side]) for side in ("identity_1", "identity_2"))
    truths = [ground_truth(bench, study.entry(setting, 0, bench.groups), headline) for headline in study.headlines]
    rows = []
    for seed in seeds:
        p, odds = answered(study.entry(setting, seed, bench.groups))
        shift = (100 * (p[first] - p[second])).round(9)
        scores = instances.assign(
            shift=shift,
            score=np.abs(shift),
            log_odds_1=odds[first],
            log_odds_2=odds[second],
            p_1=p[first],
            p_2=p[second],
        )
        scores = bench.disturbed(scores, seed)
        found: dict[tuple[str, bool], dict[str, Estimate]] = {}
        for place, headline in enumerate(study.headlines):
            category, consistent = headline.keys["category"], headline.table.endswith("consistency")
            if (category, consistent) not in found:
                mine = scores if category == "All" else scores[scores["category"] == category]
                estimates = (
                    consistency_estimates(mine, options.threshold) if consistent else bias_estimates(mine, options)
                )
                found[category, consistent] = estimates
            one, test = (found[category, consistent].get(name) for name in (headline.metric, headline.test))
            if one is None:
                raise ValueError(f"{headline}: no such estimate")
            numbers = (one.value, one.ci_low, one.ci_high, one.n, one.n_clusters)
            rows.append((place, seed, *numbers, test.value if test else np.nan, truths[place]))
    return labelled(study, pd.DataFrame(rows, columns=["headline", *COLUMNS[2:]]))


def _choices(bench: Harness) -> tuple[pd.Index, ModelRun]:
    """Items, and the first option's probability among the two and its mean log odds, over the orders shown."""
    requests, questions = bench.requests["MCQ"], bench.questions["MCQ"]
    codes, names = pd.factorize(requests["item_id"])
    shown_first = (requests["order"] == 1).to_numpy()

    def answered(entry: SimulatedEntry) -> tuple[Array, Array]:
        first, second = questions.chosen(entry)[:, :2].T
        one, other = np.where(shown_first, (first, second), (second, first))
        p = np.bincount(codes, one) / np.bincount(codes, one + other)
        odds = np.log(one + LEAST) - np.log(other + LEAST)
        return p, np.bincount(codes, odds) / np.bincount(codes)

    return pd.Index(names), answered


def _continuations(bench: Harness) -> tuple[pd.Index, ModelRun]:
    """Items, and the first option's share of reciprocal perplexity, a mean over variations, and its log odds."""
    requests, questions = bench.requests["SG"], bench.questions["SG"]
    if cast(DBBOptions, bench.options).sg_normalise != "per_variation":
        raise ValueError("shares of texts are averaged over variations")
    size = questions.tokens
    places = requests.reset_index(drop=True).reset_index(names="place")
    wide = places.pivot(index=["item_id", "variation"], columns="option", values="place")
    one, other = (wide[option].to_numpy(int) for option in (1, 2))
    codes, names = pd.factorize(wide.index.get_level_values("item_id"))

    def answered(entry: SimulatedEntry) -> tuple[Array, Array]:
        value = questions.log_likelihoods(entry) / size
        share = np.bincount(codes, expit(value[one] - value[other])) / np.bincount(codes)
        return share, np.log(share / (1 - share))

    return pd.Index(names), answered
