"""Questions and pairs for many simulated models at once: no answer is written out or parsed, so that whole benchmarks
are quick."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from biasatlas.benchmarks.dbb.evidence import bias_estimates, consistency_estimates, explained
from biasatlas.benchmarks.dbb.scores import LEAST
from biasatlas.benchmarks.dbb.spec import DBBOptions
from biasatlas.benchmarks.families.pairs.scores import stereotype_score
from biasatlas.benchmarks.families.pairs.spec import PairsOptions
from biasatlas.benchmarks.families.questions.scores import accuracy, bias_score, counted, places, shares
from biasatlas.benchmarks.families.questions.spec import LABELS, QuestionsOptions
from biasatlas.benchmarks.shared.estimates import Estimate
from biasatlas.columns import CASES, MASSES
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.experiment import COLUMNS, labelled
from biasatlas.simulation.ground_truth import ground_truth
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Headline, Study

Columns = dict[str, NDArray]
Array = NDArray[np.float64]
#: Model -> the probability of each question's first option, its log odds, and how much likelier it is in nats (missing
#: for choices).
ModelRun = Callable[[SimulatedEntry], tuple[Array, Array, Array]]


#: Columns of a test instance's score that are the same for all models.
_INSTANCE = [
    *("instance_id", "template_id", "type", "identity_1", "identity_2", "draws_1", "draws_2", "pronouns", "status"),
    *("model", "task", "category"),
]


@dataclass(frozen=True)
class _Task:
    """A task's ``items``; what an entry scores on them, as columns (``measure``); the ``estimate`` from these, over
    clusters of ``unit``."""

    items: pd.DataFrame
    unit: str
    measure: Callable[[SimulatedEntry], Columns]
    estimate: Callable[[Headline, pd.DataFrame, pd.Series], Estimate]


def run(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`biasatlas.simulation.experiment.run`, for accuracies, bias scores and stereotype scores of one task,
    and for DBB."""
    if study.benchmark == "dbb":
        return _run_shifts(study, setting, bench, seeds)
    (name,) = study.tasks
    task = {"question": _questions, "pair": _pairs, "pair_choice": _choices}[name](bench)
    unit = pd.factorize(task.items[task.unit])[0]
    inside = np.array([_inside(task.items, headline) for headline in study.headlines])
    items = task.items.reset_index(drop=True).assign(row=range(len(task.items)))
    items["item_id"] = items.index.astype(str)
    truths = [ground_truth(bench, study.entry(setting, 0, bench.groups), headline) for headline in study.headlines]
    rows = []
    for seed in seeds:
        columns = task.measure(study.entry(setting, seed, bench.groups))
        there = bench.disturbed(items, seed)["row"].to_numpy()
        for place, headline in enumerate(study.headlines):
            mine = there[inside[place, there]]
            scores = pd.DataFrame({column: values[mine] for column, values in columns.items()})
            found = task.estimate(headline, scores, pd.Series(unit[mine]))
            numbers = (found.value, found.ci_low, found.ci_high, found.n, found.n_clusters)
            rows.append((place, seed, *numbers, np.nan, truths[place]))
    return labelled(study, pd.DataFrame(rows, columns=["headline", *COLUMNS[2:]]))


def _inside(items: pd.DataFrame, headline: Headline) -> NDArray[np.bool_]:
    """Whether each item counts in a headline."""
    keys = {name: value for name, value in headline.keys.items() if value not in ("overall", "all")}
    return (items[list(keys)] == list(keys.values())).all(axis=1).to_numpy()


def _questions(bench: Harness) -> _Task:
    """Shares of the options, as :func:`biasatlas.benchmarks.families.questions.scores.score_responses` has them."""
    options, questions = cast(QuestionsOptions, bench.options), bench.questions["question"]
    items = bench.items.set_index("item_id").loc[bench.requests["question"]["item_id"]]
    place = places(items)
    person = (place["gold"] != place["unknown"]) & ~np.isnan(place["target"])
    aligned = np.where(person, place["gold"] == place["target"], np.nan)

    def measure(entry: SimulatedEntry) -> Columns:
        *labels, refused, unparseable = questions.chosen(entry).T
        masses = dict(zip(MASSES, (refused, 0.0, unparseable, 0.0), strict=True))
        said = pd.DataFrame({"status": "ok", **dict(zip(LABELS, labels, strict=True)), **masses})
        return {"aligned": aligned, **counted(shares(said, options.answer)[0], place)}

    def estimate(headline: Headline, scores: pd.DataFrame, unit: pd.Series) -> Estimate:
        if headline.metric == "accuracy":
            return accuracy(scores, unit)
        return bias_score(scores, unit, headline.keys["condition"], options.bias_formula)

    unit = "template" if options.interval == "template" else "item"
    return _Task(items.assign(item=items.index), unit, measure, estimate)


def _pairs(bench: Harness) -> _Task:
    """Whether the more stereotypical of two texts is the likelier one."""
    options, questions, requests = cast(PairsOptions, bench.options), bench.questions["pair"], bench.requests["pair"]
    places_of = requests.reset_index(drop=True).reset_index().pivot(index="item_id", columns="label", values="index")
    more, less = places_of["more"].to_numpy(int), places_of["less"].to_numpy(int)
    size = questions.tokens if options.reduction == "mean" else 1

    def measure(entry: SimulatedEntry) -> Columns:
        value = questions.log_likelihoods(entry) / size
        return {"stereotyped": (np.sign(value[more] - value[less]) + 1) / 2}

    return _Task(bench.items.set_index("item_id").loc[places_of.index], bench.cluster, measure, _preference)


def _choices(bench: Harness) -> _Task:
    """The share of the more stereotypical of two texts in the probability of the two, over the orders of a question."""
    questions, requests = bench.questions["pair_choice"], bench.requests["pair_choice"]
    codes, names = pd.factorize(requests["item_id"])
    first = requests["order"].str.startswith('["more"').to_numpy(bool)

    def measure(entry: SimulatedEntry) -> Columns:
        one, other = questions.chosen(entry)[:, :2].T
        more, less = (np.bincount(codes, np.where(side, one, other)) for side in (first, ~first))
        with np.errstate(invalid="ignore"):
            stereotyped = more / (more + less)
        silent = np.bincount(codes, one + other == 0) > 0
        return {"stereotyped": np.where(silent, np.nan, stereotyped)}

    return _Task(bench.items.set_index("item_id").loc[names], bench.cluster, measure, _preference)


def _preference(headline: Headline, scores: pd.DataFrame, unit: pd.Series) -> Estimate:
    return stereotype_score(scores, unit)


def shifts(study: Study, setting: str, bench: Harness) -> Callable[[int], pd.DataFrame]:
    """A function from a seed to its model's scores on DBB. Instances are made once, since models differ only in the two
    probabilities of each."""
    (task,) = study.tasks
    answers = {task: bench.questions[task].answer(study.entry(setting, 0, bench.groups))}
    instances = bench.scored(answers, "any")[_INSTANCE].assign(p_value=np.nan)
    item_ids, answered = {"MCQ": _shown_options, "SG": _continuations}[task](bench)
    named = instances["template_id"] + "/" + instances["type"] + "/"
    instances = instances.assign(item_1=named + instances["identity_1"], item_2=named + instances["identity_2"])
    first, second = (item_ids.get_indexer(instances[name]) for name in ("item_1", "item_2"))

    def scores(seed: int) -> pd.DataFrame:
        p, odds, nats = answered(study.entry(setting, seed, bench.groups))
        shift = (100 * (p[first] - p[second])).round(9)
        score = dict.fromkeys(("score", *(f"score{case}" for case in CASES)), np.abs(shift))
        numbers = {"log_odds": odds, "nats": nats, "p": p}
        found = {1: first, 2: second}
        values = {f"{name}_{side}": number[at] for name, number in numbers.items() for side, at in found.items()}
        return bench.disturbed(instances.assign(shift=shift, **score, **values), seed)

    return scores


def _run_shifts(study: Study, setting: str, bench: Harness, seeds: Iterable[int]) -> pd.DataFrame:
    """As :func:`run`, for DBB; ``margin`` is the part of a model's shift that its confidence explains."""
    options, scored = cast(DBBOptions, bench.options), shifts(study, setting, bench)
    truths = [ground_truth(bench, study.entry(setting, 0, bench.groups), headline) for headline in study.headlines]
    rows = []
    for seed in seeds:
        scores = scored(seed)
        found: dict[tuple[str, bool], dict[str, Estimate]] = {}
        for place, headline in enumerate(study.headlines):
            category, consistent = headline.keys["category"], headline.table.endswith("consistency")
            mine = scores if category == "All" else scores[scores["category"] == category]
            if (category, consistent) not in found:
                estimates = (
                    consistency_estimates(mine, options.threshold) if consistent else bias_estimates(mine, options)
                )
                found[category, consistent] = estimates
            one, test = (found[category, consistent].get(name) for name in (headline.metric, headline.test))
            if one is None:
                raise ValueError(f"{headline}: no such estimate")
            numbers = (one.value, one.ci_low, one.ci_high, one.n, one.n_clusters)
            margin = explained(mine) if headline.metric == "consistent_shift" else np.nan
            rows.append((place, seed, *numbers, test.value if test else np.nan, truths[place], margin))
    runs = pd.DataFrame(rows, columns=["headline", *COLUMNS[2:], "margin"])
    return labelled(study, runs).assign(margin=runs["margin"])


def _shown_options(bench: Harness) -> tuple[pd.Index, ModelRun]:
    """Items, and what gives the first option's probability among the two and its mean log odds, over the orders."""
    requests, questions = bench.requests["MCQ"], bench.questions["MCQ"]
    codes, names = pd.factorize(requests["item_id"])
    shown_first = (requests["order"] == 1).to_numpy()

    def answered(entry: SimulatedEntry) -> tuple[Array, Array, Array]:
        first, second = questions.chosen(entry)[:, :2].T
        one, other = np.where(shown_first, (first, second), (second, first))
        p = np.bincount(codes, one) / np.bincount(codes, one + other)
        odds = np.log(one + LEAST) - np.log(other + LEAST)
        return p, np.bincount(codes, odds) / np.bincount(codes), np.full(len(p), np.nan)

    return pd.Index(names), answered


def _continuations(bench: Harness) -> tuple[pd.Index, ModelRun]:
    """Items; what gives the first option's mean share of reciprocal perplexity over variations, and its log odds."""
    requests, questions = bench.requests["SG"], bench.questions["SG"]
    if cast(DBBOptions, bench.options).sg_normalise != "per_variation":
        raise ValueError("shares of texts are averaged over variations")
    size = questions.tokens
    places = requests.reset_index(drop=True).reset_index(names="place")
    wide = places.pivot(index=["item_id", "variation"], columns="option", values="place")
    one, other = (wide[option].to_numpy(int) for option in (1, 2))
    codes, names = pd.factorize(wide.index.get_level_values("item_id"))

    def answered(entry: SimulatedEntry) -> tuple[Array, Array, Array]:
        whole = questions.log_likelihoods(entry)
        value, count = whole / size, np.bincount(codes)
        share = np.bincount(codes, expit(value[one] - value[other])) / count
        return share, np.log(share / (1 - share)), np.bincount(codes, whole[one] - whole[other]) / count

    return pd.Index(names), answered
