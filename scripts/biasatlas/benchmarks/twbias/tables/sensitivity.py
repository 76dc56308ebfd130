"""The tests behind the bias ratios, and how these move with the analysis (Figure 2, and a multiverse)."""

import itertools
from collections.abc import Mapping
from typing import get_args

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import table
from biasatlas.benchmarks.shared.estimates import Estimate, Published, make_table, row
from biasatlas.benchmarks.twbias.options import TWBiasOptions
from biasatlas.benchmarks.twbias.tables.directions import KEYS, directions
from biasatlas.benchmarks.twbias.tables.prompt_tests import (
    PAPER_METRICS,
    by_prompt,
    summary_rows,
    tested_and_counts,
    with_intervals,
)
from biasatlas.benchmarks.twbias.vocabulary import ETHNIC_GROUPS, GENDERS, PROMPT_TYPES

#: What says whether there is an effect has no interval of its own.
_TESTS = dict.fromkeys(("p_value", "t"), "a test")

#: Options of the analysis that the multiverse crosses.
_CROSSED = ("test", "outliers", "ppl_scale", "effect_size")


@table("prompts")
def prompts(
    scores: pd.DataFrame, options: TWBiasOptions, published: Published, published_as: Mapping[str, str]
) -> pd.DataFrame:
    """The test of every direction and prompt type, with no template and with an empty prompt (Figure 2).

    Metrics: ``p_value`` and ``t`` (positive: perplexity rises), ``effect_size`` and ``mean_difference`` on the
    options' scale. P-values are not corrected. ``n`` is what the outlier rule leaves of each prompt type.
    """
    rows = []
    for direction in directions(scores, options, (*GENDERS, *ETHNIC_GROUPS), PROMPT_TYPES):
        numbers = np.arange(len(direction.sentences))
        estimates = with_intervals(by_prompt, direction.original, direction.replaced, numbers, options, _TESTS)
        _, counts = tested_and_counts(direction, numbers)
        tested = np.isfinite(direction.original).sum(axis=0)
        for column, prompt_type in enumerate(PROMPT_TYPES):
            keys = direction.keys | {"prompt_type": prompt_type}
            for metric, inferences in estimates.items():
                rows.append(row(keys, metric, Estimate.of(inferences[column], tested[column]), counts))
    return make_table((*KEYS, "prompt_type"), rows)


@table("multiverse")
def multiverse(
    scores: pd.DataFrame, options: TWBiasOptions, published: Published, published_as: Mapping[str, str]
) -> pd.DataFrame:
    """The gender table under every choice of test, outlier rule, scale and effect size, the rest as in ``options``."""
    choices = [get_args(TWBiasOptions.model_fields[name].annotation) for name in _CROSSED]
    rows = []
    for chosen in itertools.product(*choices):
        changes = dict(zip(_CROSSED, chosen, strict=True))
        changed = options.model_copy(update=changes)
        for direction in directions(scores, changed, GENDERS):
            rows += summary_rows(direction, changed, PAPER_METRICS, **changes)
    return make_table((*KEYS, *_CROSSED), rows)
