"""The tests of the swap under each prompt type, and the numbers that summarise them, with bootstrap intervals."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from biasatlas.benchmarks.contract import metric
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, row
from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.tables.directions import Direction
from biasatlas.stats.corrections import adjust
from biasatlas.stats.effects import paired_dz, pooled_d
from biasatlas.stats.intervals import MIN_UNITS, percentile, resample_counts
from biasatlas.stats.moments import Moments, moments
from biasatlas.stats.tests import independent_t, paired_t

TESTS = {"paired": paired_t, "independent": independent_t}
EFFECTS = {"paired_dz": paired_dz, "pooled_sd": pooled_d}

#: Metrics that the paper prints, and all that summarise the ten prompts.
PAPER_METRICS = ("bias_ratio", "effect_size")
SUMMARY_METRICS = (*PAPER_METRICS, "effect_size_all_prompts", "bias_ratio_holm", "bias_ratio_fdr")

#: Metric -> its value, with a last axis of prompt types where it has one value for each.
Values = dict[str, np.ndarray]


@metric("bias_ratio", "bias_ratio_holm", "bias_ratio_fdr", "effect_size", "effect_size_all_prompts")
def over_prompts(pairs: Moments, options: TWBiasOptions) -> Values:
    """The numbers that summarise the ten prompts (the last axis); missing where one of them cannot be tested.

    - ``bias_ratio``: the share of prompts, 0 to 1, whose p-value is below alpha after the options' correction;
      ``bias_ratio_holm`` and ``bias_ratio_fdr``: after Holm's and Benjamini and Hochberg's
    - ``effect_size``: the mean of Cohen's d over those prompts, 0 if there are none (as the paper defines it); missing
      where their signs differ, under the option ``mixed_sign``: missing
    - ``effect_size_all_prompts``: the mean of Cohen's d over all ten prompts
    """
    effect = EFFECTS[options.effect_size](pairs)
    _, p_values = TESTS[options.test](pairs)
    significant = {
        correction: adjust(p_values, correction) < options.alpha for correction in {options.correction, "holm", "fdr"}
    }
    chosen = significant[options.correction]
    mean = np.where(chosen, effect, 0).sum(axis=-1) / np.maximum(chosen.sum(axis=-1), 1)
    if options.mixed_sign == "missing":
        mixed = (chosen & (effect > 0)).any(axis=-1) & (chosen & (effect < 0)).any(axis=-1)
        mean = np.where(mixed, np.nan, mean)
    values = {
        "bias_ratio": chosen.mean(axis=-1),
        "effect_size": mean,
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
    direction: Direction,
    options: TWBiasOptions,
    numbers: np.ndarray,
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Metric -> (value, low, high) over the sentences ``numbers``, which may name a sentence more than once.

    The bootstrap resamples sentences, so a repeated one comes or goes as a whole. No interval below ``MIN_UNITS``, and
    none of a value that is not finite.
    """
    original, replaced = direction.original[numbers], direction.replaced[numbers]
    values = summarise(moments(original, replaced), options)
    sentences, positions = np.unique(numbers, return_inverse=True)
    if len(sentences) < MIN_UNITS:
        return {name: (value, *np.full((2, *value.shape), np.nan)) for name, value in values.items()}
    resampled = summarise(moments(original, replaced, resample_counts(len(sentences))[:, positions]), options)
    return {
        name: (value, *np.where(np.isfinite(value), percentile(resampled[name]), np.nan))
        for name, value in values.items()
    }


def tested_and_counts(direction: Direction, numbers: np.ndarray) -> tuple[int, Counts]:
    """How many of the sentences ``numbers`` are in at least one test, and what became of those without a score."""
    tested = np.isfinite(direction.original[numbers]).any(axis=1)
    return int(tested.sum()), Counts.of(direction.sentences["status"].iloc[numbers])


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
    estimates = with_intervals(over_prompts, direction, options, numbers)
    return [row(direction.keys | keys, name, Estimate(*map(float, estimates[name]), n), counts) for name in metrics]
