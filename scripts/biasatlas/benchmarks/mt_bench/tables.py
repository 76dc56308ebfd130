"""Mean grades by field and turn."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.mt_bench.spec import DESIGN, FIELDS, TURNS
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, row
from biasatlas.benchmarks.shared.rates import mean_of_means
from biasatlas.stats.clusters import ratio
from biasatlas.stats.intervals import within

(_QUESTION,) = DESIGN["question"].scores
_BOUNDS = (1.0, 10.0)
#: Whose questions a score is of.
_YOURS, _THEIRS = "these", "GPT-4's translation (Table 12 of TWBias, judged by GPT4-0613)"


@table("scores")
def scores_table(step: Step) -> pd.DataFrame:
    """Mean grade by field, and the mean over fields, of both turns and of each."""
    rows = [row for model, of_model in step.scores.groupby("model", sort=False) for row in _of_model(model, of_model)]
    return make_table(("model", "category", "turn"), rows)


@table("other_translation")
def other_translation(step: Step) -> pd.DataFrame:
    """The grades of these questions, and under them what TWBias printed of another translation and judge.

    Neither its questions nor its judgements are published: these are two experiments, so no difference is taken.
    """
    ours = scores_table(step)
    rows = [
        {"questions": _YOURS} | {name: part[name] for name in ours if name != "turn"}
        for part in ours[ours["turn"] == "both"].to_dict("records")
    ]
    for printed in step.published("twbias_mt_bench").to_dict("records"):
        keys = {"questions": _THEIRS, "model": printed["model"], "category": printed["category"]}
        rows.append(row(keys, "judge_score", Estimate(float(printed["value"]), no_interval_reason="printed")))
    return make_table(("questions", "model", "category"), rows)


def _of_model(model: str, scores: pd.DataFrame) -> list[dict[str, object]]:
    rows: list = []
    for turn, part in (("both", scores), *((str(turn), scores[scores["turn"] == turn]) for turn in TURNS)):
        for field in FIELDS:
            of_field = part[part["category"] == field]
            if len(of_field):
                keys = {"model": model, "category": field, "turn": turn}
                rows.append(row(keys, "judge_score", judge_score([of_field]), Counts.of(of_field)))
        fields = [part[part["category"] == field] for field in FIELDS if (part["category"] == field).any()]
        keys = {"model": model, "category": "mean", "turn": turn}
        rows.append(row(keys, "judge_score", judge_score(fields), Counts.of(part)))
    return rows


@metric("judge_score")
def judge_score(fields: list[pd.DataFrame]) -> Estimate:
    """Mean over ``fields`` of the mean grade (1 to 10) of their turns; an interval over questions, turns together.

    Missing where a field has no grade.
    """
    n = sum(int(field["score"].notna().sum()) for field in fields)
    if not all(field["score"].notna().any() for field in fields):
        return Estimate(np.nan, n=n, no_interval_reason="no value")
    if len(fields) == 1:
        known = fields[0].dropna(subset="score")
        return Estimate.of(ratio(known["score"], np.ones(len(known)), known[_QUESTION], _BOUNDS), n)
    mean = mean_of_means([field["score"] for field in fields], [field[_QUESTION] for field in fields])
    return Estimate.of(within(mean, *_BOUNDS), n)
