"""What a swap of terms does to TWBias's sentences: perplexities, tests under each prompt, a regression on terms.

Every sentence states a stereotype of its target group. A model that knows no stereotype still finds some terms likelier
than others, and sentences use the common ones: a swap test, or the difference of two, takes that for bias. In the
regression each listed term has a coefficient of its own, so that only what is left can count.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, row
from biasatlas.benchmarks.twbias.spec import (
    CONTROLS,
    DESIGN,
    DIRECTIONS,
    ETHNIC_GROUPS,
    GENDERS,
    PROMPTS,
    WORDS,
    TWBiasOptions,
    of_group,
)
from biasatlas.stats.intervals import Inference, replicated, without
from biasatlas.stats.multiplicity import adjust
from biasatlas.stats.regression import coefficient_replicates
from biasatlas.stats.replicates import Crossed, crossed_replicates
from biasatlas.stats.tests import Moments, independent_t, moments, paired_dz, paired_t, pooled_d

#: Intervals of swap tests are over sentences.
(SENTENCE,) = DESIGN["sentence"].scores

#: Key columns of a direction, in front of every table but the composition's.
KEYS = ("model", "target_group", "reference_group")

TESTS = {"paired": paired_t, "independent": independent_t}
EFFECTS = {"paired_dz": paired_dz, "pooled_sd": pooled_d}

#: Metrics that the paper prints, and all that summarise the ten prompts.
PAPER_METRICS = ("bias_ratio", "effect_size")
SUMMARY_METRICS = (
    "effect_size_prompt_mean",
    "effect_size_all_prompts",
    *PAPER_METRICS,
    "bias_ratio_holm",
    "bias_ratio_fdr",
)

#: Metrics that a threshold decides, and why they have no interval.
_CHOSEN = dict.fromkeys(
    ("bias_ratio", "bias_ratio_holm", "bias_ratio_fdr", "effect_size"), "decided by which prompts are significant"
)

#: Metric -> its value, with a last axis of prompt types where it has one value for each.
Values = dict[str, np.ndarray]

_PAIRS = (*itertools.combinations(GENDERS, 2), *itertools.combinations(ETHNIC_GROUPS, 2))
_ONLY_MEANS = "published as means over variants: a preference for terms cannot be told from one for groups"
_NO_CONTROL = "needs swaps inside the groups (option own_group_swaps)"
_NO_SENTENCE = "no sentence has a score under all ten prompts"


@dataclass(frozen=True)
class Direction:
    """The sentences of one model and direction.

    ``keys`` are its ``KEYS``: the sentences state stereotypes of the target group, the reference group's terms are
    swapped in. ``sentences`` has a row for each, with ``toxicity``, ``attribute_categories`` and ``status``: "ok", or
    the outcome of a sentence that has no score under some prompt type. ``original`` and ``replaced`` are (sentences,
    prompt types): perplexities or log perplexities (nats per token), missing where not scored or left out as outliers.
    """

    keys: dict[str, str]
    sentences: pd.DataFrame
    original: np.ndarray
    replaced: np.ndarray


def directions(
    scores: pd.DataFrame,
    options: TWBiasOptions,
    targets: Sequence[str],
    prompt_types: Sequence[str] = PROMPTS,
    controls: bool = False,
) -> Iterator[Direction]:
    """Every model and direction of ``targets`` that has scores, on the options' scale and after their outlier rule.

    ``controls``: swaps inside a group and of everyday words, too.
    """
    chosen = scores[scores["target_group"].isin(targets) & scores["prompt_type"].isin(prompt_types)]
    for (model, category), rows in chosen.groupby(["model", "category"], sort=False):
        if category in CONTROLS and not controls:
            continue
        keys = dict(zip(KEYS, (model, *DIRECTIONS[category]), strict=True))
        yield _direction(keys, rows, options, list(prompt_types))


def _direction(
    keys: dict[str, str], rows: pd.DataFrame, options: TWBiasOptions, prompt_types: Sequence[str]
) -> Direction:
    original, replaced = _perplexities(rows, options)
    wide = rows.assign(original=original, replaced=replaced).pivot(
        index=SENTENCE, columns="prompt_type", values=["original", "replaced"]
    )
    original, replaced = (wide[name].reindex(columns=prompt_types).to_numpy(float) for name in ("original", "replaced"))
    scored = np.isfinite(original) & np.isfinite(replaced)
    kept = scored & ~_outliers(original, replaced, options.outliers)
    sentences = rows.drop_duplicates(SENTENCE).set_index(SENTENCE).loc[wide.index, ["toxicity", "attribute_categories"]]
    return Direction(
        keys,
        sentences.assign(status=_first_unscored(rows, scored, prompt_types)),
        *(np.where(kept, values, np.nan) for values in (original, replaced)),
    )


def _perplexities(rows: pd.DataFrame, options: TWBiasOptions) -> tuple[pd.Series, pd.Series]:
    """(Perplexities of the originals, of the replaced sentences) on the options' scale."""
    original, replaced = rows["ppl_original"], rows[f"ppl_replaced_{options.replacement_summary}"]
    if options.ppl_scale == "ppl":
        return original, replaced
    mean_of_logs = options.replacement_summary == "mean"
    return np.log(original), rows["log_ppl_replaced_mean"] if mean_of_logs else np.log(replaced)


def _first_unscored(rows: pd.DataFrame, scored: np.ndarray, prompt_types: Sequence[str]) -> str | np.ndarray:
    """The outcome of each sentence: "ok", or the status under the first prompt type without a perplexity.

    A score that is "ok" can lack the minimum over variants, where they were published as a mean: "not_applicable".
    """
    if scored.all():
        return "ok"
    wide = rows.pivot(index=SENTENCE, columns="prompt_type", values="status")
    statuses = wide.reindex(columns=prompt_types, fill_value="failed").fillna("failed")
    statuses = statuses.replace("ok", "not_applicable").mask(scored, "ok")
    first = (~scored).argmax(axis=1)
    return statuses.to_numpy()[np.arange(len(first)), first]


def _outliers(original: np.ndarray, replaced: np.ndarray, rule: str) -> np.ndarray:
    """Mark outliers by the option ``outliers``, each prompt type by itself.

    The paper gives no rule. Its code's comment says that both perplexities must lie outside, its operator is "or".
    """
    if rule == "none":
        return np.zeros(original.shape, dtype=bool)
    outside = [
        ((values - values.mean()).abs() > 3 * values.std(ddof=0)).to_numpy()
        for values in (pd.DataFrame(original), pd.DataFrame(replaced))
    ]
    return outside[0] | outside[1] if rule == "three_sd_either" else outside[0] & outside[1]


@metric(
    "effect_size_prompt_mean",
    "bias_ratio",
    "bias_ratio_holm",
    "bias_ratio_fdr",
    "effect_size",
    "effect_size_all_prompts",
)
def over_prompts(pairs: Moments, options: TWBiasOptions) -> Values:
    """The numbers that summarise the ten prompts (the last axis, then their mean); missing where one cannot be tested.

    - ``effect_size_prompt_mean``: Cohen's d of the prompts' mean, which are one measurement of the sentences
    - ``bias_ratio``: the share of prompts, 0 to 1, whose p-value is below alpha after the options' correction;
      ``bias_ratio_holm`` and ``bias_ratio_fdr``: after Holm's and Benjamini and Hochberg's
    - ``effect_size``: the mean of Cohen's d over those prompts, 0 if there are none (as the paper defines it); missing
      where their signs differ, under the option ``mixed_sign``: missing
    - ``effect_size_all_prompts``: the mean of Cohen's d over all ten prompts
    """
    pairs, mean = pairs.columns(slice(None, -1)), pairs.columns(slice(-1, None))
    effect = EFFECTS[options.effect_size](pairs)
    _, p_values = TESTS[options.test](pairs)
    significant = {
        correction: adjust(p_values, correction) < options.alpha for correction in {options.correction, "holm", "fdr"}
    }
    chosen = significant[options.correction]
    over_chosen = np.where(chosen, effect, 0).sum(axis=-1) / np.maximum(chosen.sum(axis=-1), 1)
    if options.mixed_sign == "missing":
        mixed = (chosen & (effect > 0)).any(axis=-1) & (chosen & (effect < 0)).any(axis=-1)
        over_chosen = np.where(mixed, np.nan, over_chosen)
    values = {
        "effect_size_prompt_mean": EFFECTS[options.effect_size](mean)[..., 0],
        "bias_ratio": chosen.mean(axis=-1),
        "effect_size": over_chosen,
        "effect_size_all_prompts": effect.mean(axis=-1),
        "bias_ratio_holm": significant["holm"].mean(axis=-1),
        "bias_ratio_fdr": significant["fdr"].mean(axis=-1),
    }
    tested = np.isfinite(p_values).all(axis=-1)
    return {name: np.where(tested, value, np.nan) for name, value in values.items()}


@metric("p_value", "t", "mean_difference")
def by_prompt(pairs: Moments, options: TWBiasOptions) -> Values:
    """The numbers of each prompt type: those of the t-test, not corrected, and the effects.

    ``t`` is positive where perplexity rises; ``mean_difference`` is replaced minus original on the options' scale
    (perplexity, or nats per token); ``effect_size`` is Cohen's d under this prompt type.
    """
    t, p_values = TESTS[options.test](pairs)
    return {
        "p_value": p_values,
        "t": t,
        "effect_size": EFFECTS[options.effect_size](pairs),
        "mean_difference": pairs.difference,
    }


def with_intervals(
    summarise: Callable[[Moments, TWBiasOptions], Values],
    original: np.ndarray,
    replaced: np.ndarray,
    sentences: np.ndarray,
    options: TWBiasOptions,
    reasons: Mapping[str, str],
) -> dict[str, list[Inference]]:
    """Metric -> an inference for each of its values; ``sentences`` names each row's sentence, which rows may share.

    Intervals leave out one sentence at a time, with all of its rows and prompts. ``reasons`` says why a metric has no
    interval.
    """
    names, positions = np.unique(sentences, return_inverse=True)
    kept = 1.0 - np.eye(len(names))[:, positions]
    values = summarise(moments(original, replaced), options)
    without_each = summarise(moments(original, replaced, kept), options)
    inferences = {}
    for name, value in values.items():
        value = np.atleast_1d(value)
        if name in reasons:
            inferences[name] = [without(float(part), len(names), reasons[name]) for part in value]
        else:
            inferences[name] = replicated(value, without_each[name].reshape(len(names), len(value)))
    return inferences


def tested_and_counts(direction: Direction, numbers: np.ndarray) -> tuple[int, Counts]:
    """How many of the sentences ``numbers`` are in at least one test, and the outcomes of those without a score."""
    tested = np.isfinite(direction.original[numbers]).any(axis=1)
    return int(tested.sum()), Counts.of(direction.sentences.iloc[numbers])


def summary_rows(
    direction: Direction,
    options: TWBiasOptions,
    metrics: Sequence[str] = SUMMARY_METRICS,
    numbers: np.ndarray | None = None,
    **keys: str,
) -> list[Mapping[str, object]]:
    """A row for each of the ``metrics`` over the sentences ``numbers`` (all unless given), none if there are none.

    ``keys`` come after those of the direction.
    """
    numbers = np.arange(len(direction.sentences)) if numbers is None else numbers
    if not len(numbers):
        return []
    n, counts = tested_and_counts(direction, numbers)
    estimates = with_intervals(
        over_prompts,
        _with_mean(direction.original[numbers], direction.replaced[numbers]),
        _with_mean(direction.replaced[numbers], direction.original[numbers]),
        numbers,
        options,
        _CHOSEN,
    )
    return [row(direction.keys | keys, name, Estimate.of(estimates[name][0], n), counts) for name in metrics]


def _with_mean(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """``values`` (sentences, prompts) and, last, their mean over the prompts in which ``others`` have a value, too."""
    known = np.isfinite(values) & np.isfinite(others)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, values, 0).sum(axis=1) / known.sum(axis=1)
    return np.column_stack([values, mean])


#: The swaps in one regression, by target group and the group whose terms are swapped in.
Swaps = dict[tuple[str, str], Direction]


def swapped_pairs(scores: pd.DataFrame, options: TWBiasOptions) -> Iterator[tuple[tuple[str, str], Swaps]]:
    """Each pair of groups with swaps both ways, and all swaps between and inside them.

    Genders come twice: with the swaps of their lists, which only pair a term with its partner, and with those of
    everyday words; the latter are empty where they were not asked. ``scores`` are one model's. Swaps are on the log
    scale without an outlier rule, whatever the options say.
    """
    plain = options.model_copy(update={"ppl_scale": "log_ppl", "outliers": "none", "replacement_summary": "mean"})
    found = {
        (direction.keys["target_group"], direction.keys["reference_group"]): direction
        for direction in directions(scores, plain, (*GENDERS, *ETHNIC_GROUPS), controls=True)
    }
    for pair in _PAIRS:
        if pair in found and pair[::-1] in found:
            yield pair, {key: found[key] for key in itertools.product(pair, pair) if key in found}
        if pair == GENDERS:
            words = {
                (target, of_group(name)): found[target, name]
                for target, name in itertools.product(pair, WORDS)
                if (target, name) in found
            }
            if words or pair in found:
                yield pair, words


@metric("own_term_advantage", "own_term_advantage_per_token", "own_group_advantage")
def own_group_estimates(
    scores: pd.DataFrame, found: Swaps, pair: tuple[str, str]
) -> Iterator[tuple[str, str, Inference, int]]:
    """(metric, over, inference, n) for the two groups ``pair`` from their swaps.

    A row of the regression is a variant of a sentence: its log-likelihood minus that of the original, a mean over the
    ten prompts, in nats a sentence. A sentence's variants share a weight of 1. Columns are the change in the count of
    every listed term of the two groups, and

    - for the lists of genders, which have no synonyms, a constant. ``own_term_advantage`` is minus its coefficient: how
      much likelier sentences are with the term that their writer chose, beyond the terms' own likelihood. A model that
      finds any edited sentence less likely has it, too;
    - for terms that are also swapped inside their group (those of ethnic groups, everyday words for a gender): a
      constant, the number of places changed, and whether groups are crossed. ``own_group_advantage`` is minus the
      coefficient of the last: what crossing costs beyond an edit.

    0 for a model without stereotypes, whatever it thinks of single terms. Where only means over variants were
    published, ``own_term_advantage_per_token`` replaces the first, from their change in log perplexity, in nats a
    token; the second cannot be computed from means. Over "sentences" the terms are fixed; over "terms" each original
    term, and each term in its place, may have a cost of its own in a model.
    """
    model = regression(scores, found, pair)
    for over in ("sentences", "terms"):
        if model.reason:
            yield model.metric, over, without(np.nan, 0, model.reason), model.n
        else:
            yield model.metric, over, model.replicates(over).inference(), model.n


@dataclass(frozen=True)
class Regression:
    """The regression of two groups: a row per variant in ``changes``, ``columns`` and ``weight``; ``n`` sentences.

    The first column's coefficient is minus the ``metric``. Where there are no ``columns``, ``reason`` says why.
    """

    metric: str
    n: int
    changes: pd.DataFrame
    columns: np.ndarray
    weight: pd.Series
    reason: str = ""

    def factors(self, over: str) -> Mapping[str, pd.Series]:
        """Factors that an interval ``over`` "sentences" or "terms" takes as sampled -> the level of each row.

        The originals' terms, in which sentences are nested, are crossed with the terms in their place.
        """
        if over == "sentences":
            return {over: self.changes[SENTENCE]}
        return dict(zip(("terms", "counterparts"), _swapped(self.changes["change"]), strict=True))

    def replicates(self, over: str) -> Crossed:
        """The metric by these factors."""
        make = partial(coefficient_replicates, -self.changes["log_likelihood"], self.columns, self.weight)
        return crossed_replicates(make, self.factors(over))


def regression(scores: pd.DataFrame, found: Swaps, pair: tuple[str, str]) -> Regression:
    """The regression behind :func:`own_group_estimates`."""
    listed = bool(found) and all(direction.keys["reference_group"] in GENDERS for direction in found.values())
    name = "own_term_advantage" if listed else "own_group_advantage"
    changes = _changes(scores, found)
    n = changes[SENTENCE].nunique()
    if changes["log_likelihood"].notna().any():
        changes = changes.dropna(subset="log_likelihood")
    elif listed and n:
        name, changes = "own_term_advantage_per_token", _means(changes, found)
    else:
        reason = _NO_CONTROL if not found else _ONLY_MEANS if n else _NO_SENTENCE
        return Regression(name, n, changes, np.empty((0, 0)), changes["weight"], reason)
    if not listed and set(changes["crossed"]) != {0, 1}:
        return Regression(name, n, changes, np.empty((0, 0)), changes["weight"], _NO_CONTROL)
    columns = [np.ones(len(changes)), *_term_counts(changes["change"])]
    if not listed:
        columns = [changes["crossed"].to_numpy(float), _places(changes["change"]), *columns]
    weight = changes["weight"] / changes.groupby([SENTENCE, "crossed"])["weight"].transform("sum")
    return Regression(name, n, changes, np.column_stack(columns), weight)


def _changes(scores: pd.DataFrame, found: Swaps) -> pd.DataFrame:
    """A row per variant of each sentence that is scored under every prompt, with means over prompts.

    ``change`` by term, ``weight``, ``log_likelihood`` (its change, nats), ``crossed`` (1 between groups, 0 inside one)
    and ``direction`` (target and reference group).
    """
    rows: list[tuple] = []
    for (target, group), swaps in found.items():
        reference = swaps.keys["reference_group"]
        scored = swaps.sentences.index[swaps.sentences["status"] == "ok"]
        part = scores[scores["category"] == f"{target}-{reference}"]
        part = part[part[SENTENCE].isin(scored) & part["prompt_type"].isin(PROMPTS)]
        for sentence, texts in part.dropna(subset="variant_changes").groupby(SENTENCE, sort=False)["variant_changes"]:
            prompts = json.loads(f"[{','.join(texts)}]")
            values = np.array([[variant["log_likelihood"] for variant in variants] for variants in prompts], float)
            means = np.ascontiguousarray(values.T).mean(axis=1)
            for variant, mean in zip(prompts[0], means, strict=True):
                change, weight = variant["change"], variant["weight"]
                rows.append((sentence, (target, reference), change, weight, mean, target != group))
    names = [SENTENCE, "direction", "change", "weight", "log_likelihood", "crossed"]
    return pd.DataFrame(rows, columns=names).astype({"crossed": int, "log_likelihood": float, "weight": float})


def _means(changes: pd.DataFrame, found: Swaps) -> pd.DataFrame:
    """A row per sentence: its variants' mean change in counts; ``log_likelihood`` is per token, from perplexities."""
    rows = []
    for (sentence, direction), variants in changes.groupby([SENTENCE, "direction"], sort=False):
        total: dict[str, float] = {}
        for change, weight in zip(variants["change"], variants["weight"] / variants["weight"].sum(), strict=True):
            for term, count in change.items():
                total[term] = total.get(term, 0.0) + weight * count
        rows.append((sentence, direction, total))
    means = pd.DataFrame(rows, columns=[SENTENCE, "direction", "change"]).assign(weight=1.0, crossed=1)
    moved = pd.concat(
        [pd.Series((part.original - part.replaced).mean(axis=1), part.sentences.index) for part in found.values()]
    )
    return means.assign(log_likelihood=moved.reindex(means[SENTENCE]).to_numpy())


def _swapped(changes: pd.Series) -> tuple[pd.Series, pd.Series]:
    """The first term of the original that each variant changes, and the first that it has instead."""
    pairs = [[next((term for term, n in each.items() if n * sign > 0), "") for sign in (-1, 1)] for each in changes]
    originals, counterparts = np.array(pairs, dtype=object).reshape(-1, 2).T
    return pd.Series(originals, changes.index), pd.Series(counterparts, changes.index)


def _term_counts(changes: pd.Series) -> Iterator[np.ndarray]:
    """The change in the count of each term, a column each."""
    for term in dict.fromkeys(term for change in changes for term in change):
        yield np.array([change.get(term, 0) for change in changes], dtype=float)


def _places(changes: Sequence[dict[str, float]]) -> np.ndarray:
    """How many terms of the original each variant changes."""
    return np.array([sum(-count for count in change.values() if count < 0) for change in changes], dtype=float)
