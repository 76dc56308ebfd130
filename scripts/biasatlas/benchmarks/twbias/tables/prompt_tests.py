"""The tests of the swap under each prompt type, and the numbers that summarise them, with jackknife intervals."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, row
from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.tables.directions import Direction
from biasatlas.stats.corrections import adjust
from biasatlas.stats.intervals import Inference, without
from biasatlas.stats.jackknife import replicated
from biasatlas.stats.moments import Moments, moments
from biasatlas.stats.tests import independent_t, paired_dz, paired_t, pooled_d

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
    """Metric -> an inference for each of its values, of rows that belong to ``sentences``, some of them to the same.

    By leaving out one sentence at a time, with all of its rows and prompts. ``reasons`` are those of metrics without an
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
    """How many of the sentences ``numbers`` are in at least one test, and what became of those without a score."""
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
