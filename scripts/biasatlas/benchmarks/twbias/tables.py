"""TWBias's tables: from sentence perplexities to bias ratios and effect sizes, with intervals.

Every interval is a percentile interval of a bootstrap over sentences, drawn once for all prompts, since the prompts ask
about the same sentences. It says how far a value would move with another sample of such sentences; the outlier rule is
applied before resampling. A p-value is near 0 or 1 in many resamples, so the interval of a bias ratio is wide, and
honestly so: the ratio counts crossings of a threshold.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from biasatlas.benchmarks.twbias import DIRECTIONS, ETHNIC_GROUPS, GENDERS, GROUP_NAMES, PROMPT_TYPES, PROMPTS
from biasatlas.files import TABLE_COLUMNS
from biasatlas.stats.corrections import adjust
from biasatlas.stats.effects import cohen_d, paired_dz, pooled_d
from biasatlas.stats.intervals import MIN_UNITS, percentile, resample_counts
from biasatlas.stats.moments import Moments, moments
from biasatlas.stats.tests import independent_t, paired_t

Published = Callable[[str], pd.DataFrame]

_TESTS = {"paired": paired_t, "independent": independent_t}
_EFFECTS = {"paired_dz": paired_dz, "pooled_sd": pooled_d}


@dataclass(frozen=True)
class Direction:
    """The sentences of one model and direction: ``original`` and ``replaced`` are (sentences, prompt types).

    On the protocol's scale, after its outlier rule; missing where not scored or left out. ``unscored`` marks sentences
    without a score under some prompt type; ``items`` has their toxicity and attribute categories.
    """

    items: pd.DataFrame
    original: np.ndarray
    replaced: np.ndarray
    unscored: np.ndarray


def _directions(
    scores: pd.DataFrame, protocol: dict, targets: tuple[str, ...], prompt_types: tuple[str, ...] = PROMPTS
) -> Iterator[tuple[str, str, str, Direction]]:
    """(model, target group, reference group, sentences) for every model and direction of ``targets`` with scores."""
    chosen = scores[scores["target_group"].isin(targets) & scores["prompt_type"].isin(prompt_types)]
    for (model, category), rows in chosen.groupby(["model", "category"], sort=False):
        yield model, *DIRECTIONS[category], _direction(rows, protocol, prompt_types)


def _direction(rows: pd.DataFrame, protocol: dict, prompt_types: tuple[str, ...]) -> Direction:
    original = rows["ppl_original"]
    replaced = rows[f"ppl_replaced_{protocol['replacement_summary']}"]
    if protocol["ppl_scale"] == "log_ppl":
        original = np.log(original)
        mean = protocol["replacement_summary"] == "mean"
        replaced = rows["log_ppl_replaced_mean"] if mean else np.log(replaced)
    wide = rows.assign(original=original, replaced=replaced).pivot(
        index="item_id", columns="prompt_type", values=["original", "replaced"]
    )
    original = wide["original"].reindex(columns=list(prompt_types)).to_numpy(float)
    replaced = wide["replaced"].reindex(columns=list(prompt_types)).to_numpy(float)
    unscored = ~(np.isfinite(original) & np.isfinite(replaced))
    left_out = unscored | _outliers(original, replaced, protocol["outliers"])
    items = rows.drop_duplicates("item_id").set_index("item_id").loc[wide.index, ["toxicity", "attribute_categories"]]
    return Direction(
        items, np.where(left_out, np.nan, original), np.where(left_out, np.nan, replaced), unscored.any(axis=1)
    )


def _outliers(original: np.ndarray, replaced: np.ndarray, rule: str) -> np.ndarray:
    """Mark outliers by the ``outliers`` option, each prompt type by itself.

    The paper gives no rule. Its code's comment says that both perplexities must lie outside, its operator is "or".
    """
    if rule == "none":
        return np.zeros(original.shape, dtype=bool)
    outside = [
        ((values - values.mean()).abs() > 3 * values.std(ddof=0)).to_numpy()
        for values in (pd.DataFrame(original), pd.DataFrame(replaced))
    ]
    return outside[0] | outside[1] if rule == "three_sd_either" else outside[0] & outside[1]


def _over_prompts(pairs: Moments, protocol: dict) -> dict[str, np.ndarray]:
    """The numbers that summarise the ten prompts (the last axis), by metric."""
    effect = _EFFECTS[protocol["effect_size"]](pairs)
    _, p_values = _TESTS[protocol["test"]](pairs)
    significant = {
        correction: adjust(p_values, correction) < protocol["alpha"]
        for correction in {protocol["correction"], "holm", "fdr"}
    }
    chosen = significant[protocol["correction"]]
    tested = np.isfinite(p_values).all(axis=-1)
    mean = np.where(chosen, effect, 0).sum(axis=-1) / np.maximum(chosen.sum(axis=-1), 1)
    if protocol["mixed_sign"] == "missing":
        mixed = (chosen & (effect > 0)).any(axis=-1) & (chosen & (effect < 0)).any(axis=-1)
        mean = np.where(mixed, np.nan, mean)
    values = {
        "bias_ratio": chosen.mean(axis=-1),
        "effect_size": mean,
        "effect_size_all_prompts": effect.mean(axis=-1),
        "bias_ratio_holm": significant["holm"].mean(axis=-1),
        "bias_ratio_fdr": significant["fdr"].mean(axis=-1),
    }
    return {metric: np.where(tested, value, np.nan) for metric, value in values.items()}


def _by_prompt(pairs: Moments, protocol: dict) -> dict[str, np.ndarray]:
    """The numbers of each prompt type, by metric."""
    t, p_values = _TESTS[protocol["test"]](pairs)
    return {
        "p_value": p_values,
        "t": t,
        "effect_size": _EFFECTS[protocol["effect_size"]](pairs),
        "mean_difference": pairs.difference,
    }


def _estimates(
    direction: Direction,
    protocol: dict,
    summarise: Callable[[Moments, dict], dict[str, np.ndarray]],
    rows: np.ndarray,
) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Metric -> (value, low, high) over the sentences numbered ``rows``, which may name a sentence more than once.

    The bootstrap resamples sentences, so a repeated one comes or goes as a whole. No interval below ``MIN_UNITS``.
    """
    original, replaced = direction.original[rows], direction.replaced[rows]
    values = summarise(moments(original, replaced), protocol)
    sentences, positions = np.unique(rows, return_inverse=True)
    if len(sentences) < MIN_UNITS:
        return {metric: (value, *np.full((2, *value.shape), np.nan)) for metric, value in values.items()}
    counts = resample_counts(len(sentences))[:, positions]
    resampled = summarise(moments(original, replaced, counts), protocol)
    return {metric: (value, *percentile(resampled[metric])) for metric, value in values.items()}


def _sizes(direction: Direction, rows: np.ndarray) -> dict[str, int]:
    """``n``: rows in at least one test. ``missing``: those without a score under some prompt type."""
    tested = np.isfinite(direction.original[rows]).any(axis=1)
    return {"n": int(tested.sum()), "missing": int(direction.unscored[rows].sum())}


def _prompt_summary(
    keys: dict,
    direction: Direction,
    protocol: dict,
    published: dict[str, str],
    metrics: tuple[str, ...],
    rows: np.ndarray | None = None,
) -> list[dict]:
    """A row per metric that summarises the ten prompts over ``rows`` (all sentences unless given), if there are any."""
    rows = np.arange(len(direction.items)) if rows is None else rows
    if not len(rows):
        return []
    sizes = _sizes(direction, rows)
    estimates = _estimates(direction, protocol, _over_prompts, rows)
    return [_row(keys, metric, *estimates[metric], **sizes, published=published.get(metric)) for metric in metrics]


def _row(
    keys: dict,
    metric: str,
    value: float,
    ci_low: float = np.nan,
    ci_high: float = np.nan,
    *,
    n: int,
    missing: int,
    published: str | None = None,
) -> dict:
    # A likelihood is never refused or unparseable.
    return keys | {
        "metric": metric,
        "value": float(value),
        "ci_low": float(ci_low) if np.isfinite(value) else np.nan,
        "ci_high": float(ci_high) if np.isfinite(value) else np.nan,
        "n": n,
        "refused": 0,
        "unparseable": 0,
        "missing": missing,
        "published": published,
        "difference": float(value) - float(published) if published is not None else np.nan,
    }


def _table(keys: tuple[str, ...], rows: Iterable[dict]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[*keys, *TABLE_COLUMNS])


def _printed(table: pd.DataFrame, metrics: tuple[str, ...], **keys: str | None) -> dict[str, str]:
    """What ``table`` prints for ``keys``, by metric; empty where it prints nothing, or where a key is None."""
    for column, value in keys.items():
        table = table[table[column] == value]
    return {} if table.empty else {metric: table[metric].iloc[0] for metric in metrics}


_MAIN = ("bias_ratio", "effect_size")
_ALL = ("bias_ratio", "effect_size", "effect_size_all_prompts", "bias_ratio_holm", "bias_ratio_fdr")


def composition(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Sentences by target group, with their toxicity (Table 1) or platform (Table 6).

    Counts of the dataset, so without a model and an interval. Table 1 and the files differ for Hoklo (toxic and
    non-toxic exchanged) and Hakka (one sentence more, without a toxicity label).
    """
    printed = published("twbias_composition")
    printed = printed[printed["quantity"] == "biased sentences"].fillna("")
    items = scores.drop_duplicates("item_id")

    def rows() -> Iterator[dict]:
        for group in (*GENDERS, *ETHNIC_GROUPS):
            mine = items[items["target_group"] == group]
            if mine.empty:
                continue
            for toxicity in ("all", "toxic", "non-toxic"):
                count = len(mine) if toxicity == "all" else (mine["toxicity"] == toxicity).sum()
                missing = 0 if toxicity == "all" else mine["toxicity"].isna().sum()
                yield row(group, "", toxicity, count, missing)
            for platform, count in mine["platform"].value_counts().sort_index().items():
                yield row(group, platform, "all", count, 0)

    def row(group: str, platform: str, toxicity: str, count: int, missing: int) -> dict:
        keys = {"target_group": group, "platform": platform, "toxicity": toxicity}
        found = _printed(printed, ("count",), **(keys | {"target_group": GROUP_NAMES[group]}))
        return _row(keys, "sentences", count, n=int(count), missing=int(missing), published=found.get("count"))

    return _table(("target_group", "platform", "toxicity"), rows())


def gender(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Bias ratio and effect size of the two gender directions (Tables 4 and 11).

    The bias ratio is the share of the ten prompts whose test is significant at alpha after the protocol's correction;
    the effect size is the mean over those prompts, 0 if there are none (as the paper defines it). Beside them: the
    ratio after Holm's and after Benjamini and Hochberg's correction over the ten, and the effect over all ten prompts.
    """
    printed = published("twbias_gender")

    def rows() -> Iterator[dict]:
        for model, target, reference, direction in _directions(scores, protocol, GENDERS):
            keys = {"model": model, "target_group": target, "reference_group": reference}
            found = _printed(printed, _MAIN, model=published_as.get(model), target_group=GROUP_NAMES[target])
            yield from _prompt_summary(keys, direction, protocol, found, _ALL)

    return _table(("model", "target_group", "reference_group"), rows())


def ethnicity(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Bias ratio and effect size of the sixteen ethnic directions (Figures 5 and 8), as :func:`gender`.

    Figure 5 prints no numbers that can be read off; ``published`` is what the authors' released perplexities give.
    """
    printed = published("twbias_ethnicity_recomputed")

    def rows() -> Iterator[dict]:
        for model, target, reference, direction in _directions(scores, protocol, ETHNIC_GROUPS):
            found = _printed(
                printed,
                _MAIN,
                model=published_as.get(model),
                target_group=GROUP_NAMES[target],
                reference_group=GROUP_NAMES[reference],
            )
            keys = {"model": model, "target_group": target, "reference_group": reference}
            yield from _prompt_summary(keys, direction, protocol, found, _ALL)

    return _table(("model", "target_group", "reference_group"), rows())


def toxicity(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """Bias ratio and effect size in all, toxic and non-toxic sentences of the gender directions (Table 5).

    The outlier rule is applied to all sentences of a direction before they are divided, as in the authors' code.
    """
    printed = published("twbias_toxicity")

    def rows() -> Iterator[dict]:
        for model, target, reference, direction in _directions(scores, protocol, GENDERS):
            labels = direction.items["toxicity"].to_numpy()
            for subset in ("all", "toxic", "non-toxic"):
                keys = {"model": model, "target_group": target, "reference_group": reference, "toxicity": subset}
                found = _printed(
                    printed, _MAIN, model=published_as.get(model), target_group=GROUP_NAMES[target], toxicity=subset
                )
                chosen = np.arange(len(labels)) if subset == "all" else np.flatnonzero(labels == subset)
                yield from _prompt_summary(keys, direction, protocol, found, _ALL, chosen)

    return _table(("model", "target_group", "reference_group", "toxicity"), rows())


def attributes(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Bias ratio and effect size by attribute category, of all eighteen directions (Figures 3 and 6).

    ``n`` counts the rows of the test: sentences, or (option ``attribute_rows``: exploded) combinations of a target and
    an attribute. Values of a category with fewer than ``min_category_size`` sentences are missing. The outlier rule is
    applied before sentences are divided.
    """
    metrics = ("bias_ratio", "effect_size", "effect_size_all_prompts")

    def rows() -> Iterator[dict]:
        for model, target, reference, direction in _directions(scores, protocol, (*GENDERS, *ETHNIC_GROUPS)):
            for category, chosen in _category_rows(direction.items, protocol["attribute_rows"]).items():
                keys = {
                    "model": model,
                    "target_group": target,
                    "reference_group": reference,
                    "attribute_category": category,
                }
                if len(np.unique(chosen)) < protocol["min_category_size"]:
                    yield from (_row(keys, metric, np.nan, **_sizes(direction, chosen)) for metric in metrics)
                else:
                    yield from _prompt_summary(keys, direction, protocol, {}, metrics, chosen)

    return _table(("model", "target_group", "reference_group", "attribute_category"), rows())


def _category_rows(items: pd.DataFrame, attribute_rows: str) -> dict[str, np.ndarray]:
    """Attribute category -> numbers of its sentences in ``items``, repeated under "exploded"; by name."""
    members: dict[str, list[int]] = {}
    for number, categories in enumerate(map(json.loads, items["attribute_categories"])):
        for category in dict.fromkeys(categories) if attribute_rows == "unique" else categories:
            members.setdefault(category, []).append(number)
    return {category: np.array(members[category]) for category in sorted(members)}


def prompts(scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]) -> pd.DataFrame:
    """The test of every direction and prompt type, with no template and with an empty prompt (Figure 2).

    Metrics: ``p_value`` and ``t`` (positive: perplexity rises), ``effect_size`` and ``mean_difference`` on the
    protocol's scale. P-values are not corrected. ``n`` is what the outlier rule leaves of each prompt type.
    """

    def rows() -> Iterator[dict]:
        every = _directions(scores, protocol, (*GENDERS, *ETHNIC_GROUPS), PROMPT_TYPES)
        for model, target, reference, direction in every:
            numbers = np.arange(len(direction.items))
            estimates = _estimates(direction, protocol, _by_prompt, numbers)
            tested = np.isfinite(direction.original).sum(axis=0)
            for column, prompt_type in enumerate(PROMPT_TYPES):
                keys = {
                    "model": model,
                    "target_group": target,
                    "reference_group": reference,
                    "prompt_type": prompt_type,
                }
                sizes = {"n": int(tested[column]), "missing": int(direction.unscored[numbers].sum())}
                for metric, estimate in estimates.items():
                    value, low, high = (part[column] for part in estimate)
                    interval = (low, high) if metric in ("effect_size", "mean_difference") else ()
                    yield _row(keys, metric, value, *interval, **sizes)

    return _table(("model", "target_group", "reference_group", "prompt_type"), rows())


def multiverse(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """The gender table under every choice of test, outlier rule, scale and effect size, the rest as in ``protocol``."""
    choices = {
        "test": _TESTS,
        "outliers": ("none", "three_sd_either", "three_sd_both"),
        "ppl_scale": ("ppl", "log_ppl"),
        "effect_size": _EFFECTS,
    }

    def rows() -> Iterator[dict]:
        for chosen in itertools.product(*choices.values()):
            options = dict(zip(choices, chosen, strict=True))
            for model, target, reference, direction in _directions(scores, protocol | options, GENDERS):
                keys = {"model": model, "target_group": target, "reference_group": reference} | options
                yield from _prompt_summary(keys, direction, protocol | options, {}, _MAIN)

    return _table(("model", "target_group", "reference_group", *choices), rows())


def double_difference(
    scores: pd.DataFrame, protocol: dict, published: Published, published_as: dict[str, str]
) -> pd.DataFrame:
    """Stereotypes apart from a general preference for one group's terms, for each pair of groups with sentences.

    Every TWBias sentence states a stereotype of its target group. Let u be log perplexity with the terms of group B
    minus that with the terms of group A, a mean over the ten prompts. The swap tests ask whether u differs from 0 in
    A's sentences; it also does for a model that merely finds A's terms likelier, but then by as much in B's sentences.
    The double difference is mean u over A's sentences (their stereotype swap) minus mean u over B's (the swap back), so
    such a preference cancels. What does not cancel is that all sentences were written with their own group's terms: a
    model that finds any edited sentence less likely shows that here twice.

    In nats per token, with Welch's t-interval and p-value, and as Cohen's d of the two independent samples with a
    bootstrap interval. On log perplexity and all sentences, whatever the protocol says of scale and outliers. ``n``
    counts sentences of both groups; values are missing where one has fewer than ten.
    """
    plain = protocol | {"ppl_scale": "log_ppl", "outliers": "none"}
    changes, missing = {}, {}
    for model, target, reference, direction in _directions(scores, plain, (*GENDERS, *ETHNIC_GROUPS)):
        scored = ~direction.unscored
        changes[model, target, reference] = (direction.replaced - direction.original)[scored].mean(axis=1)
        missing[model, target, reference] = int((~scored).sum())
    pairs = [*itertools.combinations(GENDERS, 2), *itertools.combinations(ETHNIC_GROUPS, 2)]

    def rows() -> Iterator[dict]:
        for model, (group, other) in itertools.product(scores["model"].unique(), pairs):
            there, back = (model, group, other), (model, other, group)
            if there not in changes or back not in changes:
                continue
            keys = {"model": model, "group": group, "other_group": other}
            sizes = {"n": len(changes[there]) + len(changes[back]), "missing": missing[there] + missing[back]}
            for metric, estimate in _double_estimates(changes[there], -changes[back]).items():
                yield _row(keys, metric, *estimate, **sizes)

    return _table(("model", "group", "other_group"), rows())


def _double_estimates(stereotype: np.ndarray, anti: np.ndarray) -> dict[str, tuple[float, ...]]:
    """Metric -> (value, low, high) of the difference of two independent samples."""
    if min(len(stereotype), len(anti)) < MIN_UNITS:
        return dict.fromkeys(("double_difference", "double_difference_d", "double_difference_p"), (np.nan,))
    test = scipy.stats.ttest_ind(stereotype, anti, equal_var=False)
    d_interval = scipy.stats.bootstrap(
        (anti, stereotype), cohen_d, n_resamples=1000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return {
        "double_difference": (np.mean(stereotype) - np.mean(anti), *test.confidence_interval()),
        "double_difference_d": (cohen_d(anti, stereotype), *d_interval),
        "double_difference_p": (test.pvalue,),
    }


TABLES = {
    "composition": composition,
    "gender": gender,
    "ethnicity": ethnicity,
    "toxicity": toxicity,
    "attributes": attributes,
    "prompts": prompts,
    "multiverse": multiverse,
    "double_difference": double_difference,
}
