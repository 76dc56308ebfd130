"""The scores of each model and direction as arrays: perplexities by sentence and prompt type."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biasatlas.benchmarks.twbias.columns import DESIGN
from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.vocabulary import DIRECTIONS, PROMPTS

#: Sentences are what intervals are over.
(SENTENCE,) = DESIGN["sentence"].scores

#: Key columns of a direction, in front of every table but the composition's.
KEYS = ("model", "target_group", "reference_group")


@dataclass(frozen=True)
class Direction:
    """The sentences of one model and direction.

    ``keys`` are its ``KEYS``: the sentences state stereotypes of the target group, the reference group's terms are
    swapped in. ``sentences`` has a row for each, with ``toxicity``, ``attribute_categories`` and ``status``: "ok", or
    what became of a sentence that has no score under some prompt type. ``original`` and ``replaced`` are (sentences,
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

    ``controls``: swaps inside a group, too.
    """
    chosen = scores[scores["target_group"].isin(targets) & scores["prompt_type"].isin(prompt_types)]
    for (model, category), rows in chosen.groupby(["model", "category"], sort=False):
        target, reference = DIRECTIONS[category]
        if target == reference and not controls:
            continue
        keys = dict(zip(KEYS, (model, target, reference), strict=True))
        yield _direction(keys, rows, options, list(prompt_types))


def _direction(
    keys: dict[str, str], rows: pd.DataFrame, options: TWBiasOptions, prompt_types: Sequence[str]
) -> Direction:
    original, replaced = _perplexities(rows, options)
    wide = rows.assign(original=original, replaced=replaced).pivot(
        index=SENTENCE, columns="prompt_type", values=["original", "replaced", "status"]
    )
    original, replaced = (wide[name].reindex(columns=prompt_types).to_numpy(float) for name in ("original", "replaced"))
    scored = np.isfinite(original) & np.isfinite(replaced)
    kept = scored & ~_outliers(original, replaced, options.outliers)
    sentences = rows.drop_duplicates(SENTENCE).set_index(SENTENCE).loc[wide.index, ["toxicity", "attribute_categories"]]
    statuses = wide["status"].reindex(columns=prompt_types, fill_value="failed").fillna("failed")
    return Direction(
        keys,
        sentences.assign(status=_first_unscored(statuses, scored)),
        np.where(kept, original, np.nan),
        np.where(kept, replaced, np.nan),
    )


def _perplexities(rows: pd.DataFrame, options: TWBiasOptions) -> tuple[pd.Series, pd.Series]:
    """Of original and replaced sentence, on the options' scale."""
    original, replaced = rows["ppl_original"], rows[f"ppl_replaced_{options.replacement_summary}"]
    if options.ppl_scale == "ppl":
        return original, replaced
    mean_of_logs = options.replacement_summary == "mean"
    return np.log(original), rows["log_ppl_replaced_mean"] if mean_of_logs else np.log(replaced)


def _first_unscored(statuses: pd.DataFrame, scored: np.ndarray) -> np.ndarray:
    """What became of each sentence: "ok", or the status under the first prompt type without a perplexity.

    A score that is "ok" can lack the minimum over variants, where they were published as a mean: "not_applicable".
    """
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
