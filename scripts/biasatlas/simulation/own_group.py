"""TWBias's own-group regressions for many simulated models at once: only what is regressed changes from model to model."""

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.spec import PROMPTS
from biasatlas.benchmarks.twbias.swaps import SENTENCE, Regression, regression, swapped_pairs
from biasatlas.simulation.experiment import COLUMNS, labelled
from biasatlas.simulation.ground_truth import ground_truth
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Headline, Study
from biasatlas.stats.regression import coefficients

Places = NDArray[np.int_]


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, for headlines of the table `own_group` over sentences."""
    options = cast(TWBiasOptions, bench.options)
    questions, seeds = bench.questions["perplexity"], list(seeds)
    scores = bench.scored({"perplexity": questions.answer(study.entry(setting, 0, bench.groups))}, "any")
    found = {pair: regression(scores, swaps, pair) for pair, swaps in swapped_pairs(scores, options)}
    wanted = [_pair(headline) for headline in study.headlines]
    places = {pair: _places(bench.requests["perplexity"], found[pair]) for pair in wanted}
    outcomes = {pair: np.empty((len(found[pair].changes), len(seeds))) for pair in wanted}
    for number, seed in enumerate(seeds):
        entry = study.entry(setting, seed, bench.groups)
        value = questions.log_likelihoods(entry)
        for pair, (variant, original) in places.items():
            outcomes[pair][:, number] = (value[variant] - value[original]).mean(axis=1)
    rows = []
    for place, headline in enumerate(study.headlines):
        design = found[_pair(headline)]
        if design.metric != headline.metric or design.columns is None:
            raise ValueError(f"{headline}: the pair has {design.metric}")
        known = ground_truth(bench, study.entry(setting, 0, bench.groups), headline)
        clusters = design.changes[SENTENCE]
        estimates = coefficients(-outcomes[_pair(headline)], design.columns, design.weight, clusters)
        rows += [
            (place, seed, each.value, each.low, each.high, design.n, each.n_clusters, each.p_value(), known)
            for seed, each in zip(seeds, estimates, strict=True)
        ]
    runs = pd.DataFrame(rows, columns=["headline", *COLUMNS[2:]]).sort_values(["seed", "headline"], ignore_index=True)
    return labelled(study, runs)


def _pair(headline: Headline) -> tuple[str, str]:
    return headline.keys["group"], headline.keys["other_group"]


def _places(requests: pd.DataFrame, design: Regression) -> tuple[Places, Places]:
    """Places of the requests behind each row of a regression, (rows, prompts): of its variant, and of the original."""
    requests = requests.reset_index(drop=True).reset_index(names="place")
    requests = requests[requests["prompt_type"].isin(PROMPTS)]
    original = requests[requests["variant"] == 0].pivot(index="item_id", columns="prompt_type", values="place")
    variants = requests[requests["variant"] > 0]
    keys = ["item_id", "reference_group", "position"]
    numbered = variants.assign(position=variants.groupby([*keys[:2], "prompt_type"]).cumcount())
    wide = numbered.pivot(index=keys, columns="prompt_type", values="place")
    changes = design.changes
    position = changes.groupby([SENTENCE, "direction"]).cumcount()
    references = [reference for _, reference in changes["direction"]]
    names: Sequence[tuple] = list(zip(changes[SENTENCE], references, position, strict=True))
    prompts = [prompt for prompt in PROMPTS if prompt in set(requests["prompt_type"])]
    return wide.loc[names, prompts].to_numpy(int), original.loc[changes[SENTENCE], prompts].to_numpy(int)
