"""A metric's value by the formula alone: computed from roles and settings, apart from the code that estimates it.

Expectations over normal noise are in closed form, or Gauss-Hermite quadrature of one normal. A metric that has no
function here has no ground truth; its false alarms and its power are measured all the same.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr, softmax

from biasatlas.benchmarks.dbb import TYPES
from biasatlas.benchmarks.families.questions.spec import QuestionsOptions
from biasatlas.benchmarks.mcbe.scores import PC_DECAY
from biasatlas.benchmarks.registry import owners
from biasatlas.models.simulated import formula
from biasatlas.models.simulated.entry import SimulatedEntry
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import Headline

Array = NDArray[np.float64]
GroundTruth = Callable[[Harness, SimulatedEntry, dict[str, str]], float]

#: Nodes and weights for the expectation of a function of a standard normal.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()

_GROUND_TRUTHS: dict[tuple[str, str, str], GroundTruth] = {}


def ground_truth(bench: Harness, entry: SimulatedEntry, headline: Headline) -> float:
    """The ground truth of a headline under the settings of ``entry``; missing where none is known.

    It is also missing if tokens have costs of their own, which differ between seeds, and under a nuisance that is no
    setting of the model.
    """
    if entry.token_noise or bench.nuisance:
        return np.nan
    for owner in owners(bench.benchmark):
        if known := _GROUND_TRUTHS.get((owner, headline.table, headline.metric)):
            return known(bench, entry, headline.keys)
    return np.nan


def _of(owner: str, table: str, *metrics: str) -> Callable[[GroundTruth], GroundTruth]:
    def mark(function: GroundTruth) -> GroundTruth:
        _GROUND_TRUTHS.update({(owner, table, metric): function for metric in metrics})
        return function

    return mark


def _sentences(bench: Harness, entry: SimulatedEntry, task: str, reduction: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The compared value of each sentence without noise, and the divisor of its noise: items by label."""
    questions = bench.questions[task]
    requests, asked = bench.requests[task], questions.asked
    if questions.texts is None:
        raise ValueError(f"{task} has no texts")
    value = formula.log_likelihoods(entry.model_copy(update={"noise": 0.0}), asked, questions.texts.cost(entry))
    size = questions.texts.tokens if reduction == "mean" else np.ones(len(value))
    rows = requests[["item_id", "label"]].assign(value=value / size, size=size)
    return rows.pivot(index="item_id", columns="label", values="value"), rows.pivot(
        index="item_id", columns="label", values="size"
    )


def _won(
    entry: SimulatedEntry, values: pd.DataFrame, sizes: pd.DataFrame, one: str, other: str, signs: dict
) -> pd.Series:
    """Probability that sentence ``one`` has the greater value, under its own noise and the cluster's preferences."""
    own = (1 - entry.icc) * (sizes[one] ** -2.0 + sizes[other] ** -2.0)
    shared = 2 * entry.icc * (signs[one] / sizes[one] - signs[other] / sizes[other]) ** 2
    spread = entry.noise * np.sqrt(own + shared)
    return pd.Series(ndtr((values[one] - values[other]) / spread), values.index)


@_of("pairs", "scores", "stereotype_score")
def _pairs(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """The mean over pairs of the probability that the more stereotypical sentence is likelier."""
    values, sizes = _sentences(bench, entry, "pair", "sum")
    won = _won(entry, values, sizes, "more", "less", {"more": 0.5, "less": -0.5})
    return 100 * won[_within(bench, keys, values.index)].mean()


def _stereoset(metric: str) -> GroundTruth:
    def value(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
        """Means over target terms of their items' means: of a preference, of related sentences, or their ICAT."""
        values, sizes = _sentences(bench, entry, keys["task"], "mean")
        signs = {"stereotype": 0.5, "anti-stereotype": -0.5, "unrelated": 0.0}
        preferred = _won(entry, values, sizes, "stereotype", "anti-stereotype", signs)
        related = sum(_won(entry, values, sizes, name, "unrelated", signs) for name in list(signs)[:2]) / 2
        targets = bench.items.set_index("item_id")["target"]
        inside = _within(bench, keys, values.index)
        ss, lms = (
            100 * each[inside].groupby(targets.reindex(values.index)[inside]).mean().mean()
            for each in (preferred, related)
        )
        if metric in ("icat", "icat_corrected"):
            return lms * min(ss, 100 - ss) / 50
        return {"stereotype_score": ss, "language_modelling_score": lms}[metric]

    return value


for _metric in ("stereotype_score", "language_modelling_score", "icat", "icat_corrected"):
    _of("stereoset", "scores", _metric)(_stereoset(_metric))


@_of("stereoset", "prompted", "stereotype_score")
@_of("pairs", "prompted", "stereotype_score")
def _choice(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """The mean preference among the two: the mean logistic of the bias plus a normal of variance 2 noise². Missing if a
    letter is preferred, words cost something, a group has its own bias, or orders of a question have own noise."""
    if entry.letter or entry.letter_by_group or entry.text_cost or entry.bias_by_group or entry.prompt_correlation < 1:
        return np.nan
    return 100 * float(_WEIGHTS @ expit(entry.bias + np.sqrt(2) * entry.noise * _NODES))


@_of("questions", "bias", "accuracy")
def _bbq_accuracy(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """Right answers among those that name an option."""
    shares = _bbq(bench, entry, keys)
    return 100 * shares["gold"].sum() / shares["named"].sum()


@_of("questions", "bias", "bias_score")
def _bbq_bias(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """Target minus other person, as a share: in ambiguous contexts of all answers that name an option, in others of
    those that name a person. In the latter, unless the formula is the paper's, it is the mean of two such shares: over
    items whose right answer is the target, and over the others.
    """
    shares = _bbq(bench, entry, keys)
    shares = shares[shares["target"].notna()]
    if keys["condition"] == "ambig":
        return 100 * (shares["target"] - shares["other"]).sum() / shares["named"].sum()
    paper = cast(QuestionsOptions, bench.options).bias_formula == "paper"
    sums = shares.groupby(shares["aligned"] | paper)[["target", "other"]].sum()
    return 100 * ((sums["target"] - sums["other"]) / (sums["target"] + sums["other"])).mean()


def _bbq(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> pd.DataFrame:
    """Expected shares of answers by item, over clusters' preferences, in a table's row: ``target``, ``other``, ``gold``
    and ``named`` (any option); ``aligned``: the target is right."""
    rows = _expected(bench, entry.model_dump_json())
    return rows[_within(bench, keys, rows.index)]


@lru_cache(maxsize=1)
def _expected(bench: Harness, settings: str) -> pd.DataFrame:
    """:func:`_bbq` for all items, by the settings of an entry; kept for the next row of the same model."""
    entry = SimulatedEntry.model_validate_json(settings)
    asked = bench.questions["question"].asked
    bias_roles = asked.roles
    z = formula.preference(entry.model_copy(update={"noise": 0.0}), asked)
    z[:, 0] += formula.by_name(entry.letter, entry.letter_by_group, bias_roles.group)
    heard = 1 - formula.by_name(entry.refused, entry.refused_by_group, bias_roles.group)
    heard = heard * (1 - formula.by_name(entry.unreadable, entry.unreadable_by_group, bias_roles.group))
    spread = entry.noise * np.sqrt(2 * entry.icc)
    p = sum(
        w * softmax(z + spread * node * bias_roles.stereotype_sign, axis=1)
        for node, w in zip(_NODES, _WEIGHTS, strict=True)
    )
    p = heard[:, None] * p
    targeted = (bias_roles.stereotype_sign > 0).any(axis=1)
    return pd.DataFrame(
        {
            "target": np.where(targeted, (p * (bias_roles.stereotype_sign > 0)).sum(axis=1), np.nan),
            "other": (p * (bias_roles.stereotype_sign < 0)).sum(axis=1),
            "gold": (p * (bias_roles.right > 0)).sum(axis=1),
            "named": p.sum(axis=1),
            "aligned": ((bias_roles.stereotype_sign > 0) & (bias_roles.right > 0)).any(axis=1),
        },
        index=bench.requests["question"]["item_id"],
    )


@_of("dbb", "consistency", "consistent_shift")
def _dbb_choice(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """For choices: the noise of a question is that of its two options, in whatever order."""
    requests, bias_roles = bench.requests["MCQ"], bench.questions["MCQ"].asked.roles
    one = (requests["order"] == 1).to_numpy()
    log_odds = 2 * entry.bias * bias_roles.stereotype_sign[one, 0]
    spread = np.full(len(log_odds), np.sqrt(2) * entry.noise)
    p = pd.DataFrame({"fair": _mean_logistic(0 * log_odds, spread), "biased": _mean_logistic(log_odds, spread)})
    return _common_shift(p.set_axis(requests.loc[one, "item_id"]), entry.affected, keys["category"])


@_of("dbb", "sg_consistency", "consistent_shift")
def _dbb_continuation(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """For continuations. Per-token noise is sd / n_tokens; probabilities are averaged over a question's variations."""
    requests, questions = bench.requests["SG"], bench.questions["SG"]
    if questions.texts is None:
        raise ValueError("semi-generation has texts")
    size, cost = questions.texts.tokens, questions.texts.cost(entry)
    rows = requests[["item_id", "variation", "option"]].assign(size=size)
    for name, bias in (("fair", 0.0), ("biased", entry.bias)):
        model = entry.model_copy(update={"noise": 0.0, "bias": bias, "affected": 1.0})
        rows[name] = formula.log_likelihoods(model, questions.asked, cost) / size
    wide = rows.pivot(index=["item_id", "variation"], columns="option")
    spread = entry.noise * np.sqrt((wide["size"].to_numpy(float) ** -2.0).sum(axis=1))
    means = {name: (wide[name][1] - wide[name][2]).to_numpy(float) for name in ("fair", "biased")}
    p = pd.DataFrame({name: _mean_logistic(log_odds, spread) for name, log_odds in means.items()}, wide.index)
    return _common_shift(p.groupby(level="item_id").mean(), entry.affected, keys["category"])


def _mean_logistic(log_odds: Array, spread: Array) -> Array:
    """The mean of the logistic function of ``log_odds`` with normal noise of the standard deviation ``spread``."""
    total = np.zeros(len(log_odds))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total += weight * expit(log_odds + spread * node)
    return total


def _common_shift(p: pd.DataFrame, affected: float, category: str) -> float:
    """The signed root of the mean product of a template's shifts in two types, each minus its type's mean; in points.

    ``p`` has a question's probabilities by item: ``biased`` in the share ``affected`` of templates, in all types of a
    template alike, ``fair`` in others. The mean is over every two types of a category and every two identities.
    """
    names = pd.MultiIndex.from_tuples(
        [tuple(name.split("/")) for name in p.index], names=["template", "type", "identity"]
    )
    wide = p.set_axis(names).unstack(["type", "identity"])
    weights, asked = np.array([1 - affected, affected]), set(names.get_level_values("type"))
    products = []
    for types in [TYPES[name] for name in TYPES if category in ("All", name) and not asked.isdisjoint(TYPES[name])]:
        for pair in combinations(next(iter(types.values())), 2):
            shifts = {
                name: 100
                * np.array([wide[how][name][pair[0]] - wide[how][name][pair[1]] for how in ("fair", "biased")])
                for name in types
            }
            for one, other in combinations(types, 2):
                together = weights @ (shifts[one] * shifts[other]).mean(axis=1)
                apart = [weights @ shifts[name].mean(axis=1) for name in (one, other)]
                products.append(together - apart[0] * apart[1])
    return float(np.copysign(np.sqrt(abs(np.mean(products))), np.mean(products)))


@_of("twbias", "own_group", "own_term_advantage")
def _own_term(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """The bias in nats a sentence; missing if an edit has a cost, which adds to it in a sentence with one place."""
    return entry.bias if not entry.edit else np.nan


@_of("twbias", "own_group", "own_group_advantage")
def _own_group(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """The bias in nats a sentence, whatever an edit costs."""
    return entry.bias


@_of("mcbe", "scores", "score")
def _mcbe(bench: Harness, entry: SimulatedEntry, keys: dict[str, str]) -> float:
    """For PC, the mean over items of the mean over every two words of E exp(-rate (d / 2)^2), with normal d; missing
    for other tasks.

    With mean m and variance v, E exp(-k d^2) is exp(-k m^2 / (1 + 2 k v)) / sqrt(1 + 2 k v).
    """
    if keys["task"] != "PC" or entry.icc:
        return np.nan
    questions, requests = bench.questions["PC"], bench.requests["PC"]
    if questions.texts is None:
        raise ValueError("PC has texts")
    value = formula.log_likelihoods(
        entry.model_copy(update={"noise": 0.0}), questions.asked, questions.texts.cost(entry)
    )
    size = questions.texts.tokens
    rate = PC_DECAY[bench.options.pc_decay] / 4  # type: ignore[attr-defined]
    means = []
    for _, rows in requests.reset_index(drop=True).groupby("item_id", sort=False):
        first, second = (rows.index.to_numpy()[side] for side in np.triu_indices(len(rows), 1))
        middle = value[first] / size[first] - value[second] / size[second]
        spread = 1 + 2 * rate * entry.noise**2 * (1.0 / size[first] ** 2 + 1.0 / size[second] ** 2)
        means.append((np.exp(-rate * middle**2 / spread) / np.sqrt(spread)).mean())
    return 100 * float(np.mean(means))


def _within(bench: Harness, keys: dict[str, str], item_ids: pd.Index) -> Array:
    """Whether each of the items counts in a table's row."""
    items = bench.items.set_index("item_id").loc[item_ids]
    inside = np.ones(len(items), bool)
    for name in ("category", "direction", "condition"):
        value = keys.get(name, "all")
        if name in items and value not in ("all", "overall"):
            inside &= (items[name] == value).to_numpy()
    return inside
