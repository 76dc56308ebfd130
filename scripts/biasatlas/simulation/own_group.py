"""TWBias's own-group regressions for many simulated models at once: models differ only in the outcomes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.evidence import Evidence, declare
from biasatlas.benchmarks.twbias.spec import PROMPTS, TWBiasOptions
from biasatlas.benchmarks.twbias.swaps import SENTENCE, Regression, regression, swapped_pairs
from biasatlas.benchmarks.twbias.tables import of_two
from biasatlas.models.simulated.answer import Questions
from biasatlas.simulation.asked import Array
from biasatlas.simulation.experiment import COLUMNS, labelled
from biasatlas.simulation.ground_truth import ground_truth
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Headline, Study
from biasatlas.stats.intervals import crossed
from biasatlas.stats.regression import coefficients, coefficients_replicates
from biasatlas.stats.replicates import Crossed, cluster_sets

Places = NDArray[np.int_]
#: Rounds as :func:`biasatlas.benchmarks.shared.order.rounds_of` gives them; and a function from rounds and seeds to the
#: evidence from each seed's model at the end of each round.
Rounds = Sequence[tuple[float, Sequence[str]]]
InRounds = Callable[[Rounds, Sequence[int]], Iterator[tuple[int, Iterable[tuple[float, Iterable[Evidence]]]]]]


def run(
    study: Study,
    setting: str,
    bench: Harness,
    seeds: Iterable[int],
    values: Callable[[Questions, int], Array] | None = None,
) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, for headlines of the table `own_group`.

    ``values`` gives log-likelihoods of the requests by a seed's model, for which no ground truth is known; by default
    they follow from the formula.
    """
    found, seeds = _designs(study, bench), list(seeds)
    outcomes = _outcomes(study, setting, bench, found, values)(seeds)
    rows = []
    for place, headline in enumerate(study.headlines):
        design = found[_of(headline)]
        known = np.nan if values else ground_truth(bench, study.entry(setting, 0, bench.groups), headline)
        by = {
            names: coefficients(-outcomes[_of(headline)], design.columns, design.weight, clusters)
            for names, clusters in cluster_sets(design.factors(headline.keys["over"]))
        }
        estimates = [crossed(dict(zip(by, each, strict=True))) for each in zip(*by.values(), strict=True)]
        rows += [
            (place, seed, each.value, each.low, each.high, design.n, each.n_clusters, each.p_value(), known)
            for seed, each in zip(seeds, estimates, strict=True)
        ]
    runs = pd.DataFrame(rows, columns=["headline", *COLUMNS[2:]]).sort_values(["seed", "headline"], ignore_index=True)
    return labelled(study, runs)


def in_rounds(study: Study, setting: str, bench: Harness) -> InRounds:
    """A function from rounds and seeds to the evidence at the end of each round. The regressions are prepared once, and
    a round uses some of their rows."""
    spec, designs = registry.load_spec("twbias"), _designs(study, bench)
    claimed = {of: declare(spec, of[-1], "") for of in designs}
    found = {of: design for of, design in designs.items() if (each := claimed[of]) and each.neutral is not None}
    outcomes = _outcomes(study, setting, bench, found)

    def shown(rounds: Rounds, seeds: Sequence[int]) -> Iterator[tuple[int, list[tuple[float, list[Evidence]]]]]:
        values, told = outcomes(seeds), {seed: list[tuple[float, list[Evidence]]]() for seed in seeds}
        for share, asked in rounds:
            here: dict[int, list[Evidence]] = {seed: [] for seed in seeds}
            for of, whole in found.items():
                there = whole.changes[SENTENCE].isin(asked).to_numpy()
                part = _of_rows(whole, there)
                if set(part.changes["crossed"]) != set(whole.changes["crossed"]):
                    continue
                by = {
                    names: coefficients_replicates(-values[of][there], part.columns, part.weight, clusters)
                    for names, clusters in cluster_sets(part.factors("terms"))
                }
                of_all = replace(of_two(of[:2], part, Crossed({})), declared=claimed[of])
                for seed, each in zip(seeds, zip(*by.values(), strict=True), strict=True):
                    here[seed].append(replace(of_all, replicates=Crossed(dict(zip(by, each, strict=True)))))
            for seed in seeds:
                told[seed].append((share, here[seed]))
        yield from told.items()

    return shown


def _outcomes(
    study: Study,
    setting: str,
    bench: Harness,
    found: Mapping[tuple[str, str, str], Regression],
    values: Callable[[Questions, int], Array] | None = None,
) -> Callable[[Sequence[int]], dict[tuple[str, str, str], Array]]:
    """A function from seeds to the changes in log-likelihood by their models: for each regression, (rows, seeds)."""
    asked = bench.requests["perplexity"]
    if study.one_prompt:
        first = {"perplexity": asked[asked["prompt_type"] == PROMPTS[0]]}
        bench = replace(bench, requests=first, nuisance=None).under(bench.nuisance)
    questions = bench.questions["perplexity"]
    places = {of: _places(bench.requests["perplexity"], design) for of, design in found.items()}

    def outcomes(seeds: Sequence[int]) -> dict[tuple[str, str, str], Array]:
        made = {of: np.empty((len(found[of].changes), len(seeds))) for of in found}
        for number, seed in enumerate(seeds):
            entry = study.entry(setting, seed, bench.groups)
            value = values(questions, seed) if values else questions.log_likelihoods(entry)
            for of, (variant, original) in places.items():
                made[of][:, number] = (value[variant] - value[original]).mean(axis=1)
        return made

    return outcomes


def _designs(study: Study, bench: Harness) -> dict[tuple[str, str, str], Regression]:
    """The regressions of a study's headlines (if it has none, of every two groups), from the scores of any model."""
    plain = replace(bench.questions["perplexity"], change=None)
    answers = plain.answer(study.entry(study.settings()[0], 0, bench.groups))
    scores = bench.scored({"perplexity": answers}, "any")
    swaps = swapped_pairs(scores, cast(TWBiasOptions, bench.options))
    designs = {(*pair, each.metric): each for pair, some in swaps for each in [regression(scores, some, pair)]}
    there = {of: design for of, design in designs.items() if not design.reason}
    wanted = dict.fromkeys(_of(headline) for headline in study.headlines) or there
    if missing := wanted.keys() - there.keys():
        raise ValueError(f"{', '.join(map(str, missing))}: no such regression")
    return {of: designs[of] for of in wanted}


def _of(headline: Headline) -> tuple[str, str, str]:
    return headline.keys["group"], headline.keys["other_group"], headline.metric


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


def _of_rows(of: Regression, there: NDArray[np.bool_]) -> Regression:
    """The regression with the rows that are ``there`` alone: all of a sentence's, or none."""
    changes = of.changes[there]
    n = changes[SENTENCE].nunique()
    return replace(of, n=n, changes=changes, columns=of.columns[there], weight=of.weight[there])
