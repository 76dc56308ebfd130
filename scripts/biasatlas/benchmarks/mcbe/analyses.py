"""BA: the weighted criteria of the rubric, from what a judge said of each analysis."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.mcbe.columns import CASE_COLUMNS
from biasatlas.benchmarks.mcbe.judge import analysis_status, read_judgements, rubric
from biasatlas.benchmarks.mcbe.options import McBEOptions
from biasatlas.benchmarks.shared.readers import AMBIGUOUS
from biasatlas.resources import Resources

#: Why an analysis has no score though it was judged.
_SEVERAL, _UNREADABLE = "the judge gave several grades", "the judge's reply cannot be read"


def score_analyses(
    answers: pd.DataFrame, options: McBEOptions, resources: Resources, judgements: pd.DataFrame | None
) -> pd.DataFrame:
    """``answers`` with ``score``, a column for each criterion, ``outcome``, masses and CASE_COLUMNS.

    A score is the weighted sum of the criteria, or with ``ba_aggregate: weighted_mean`` that over the sum of weights; it is
    missing where a criterion is. Raises ValueError without ``judgements``, the judge's responses.
    """
    if judgements is None:
        raise ValueError("BA is scored from the judge's responses")
    criteria = rubric(resources).set_index("criterion")
    analyses = answers["request_id"] + "/" + answers["repeat"].astype(str)
    # Judgements are of all categories: a request of the judge is named after an analysis, and a criterion.
    mine = judgements["request_id"].str.replace(r"/[^/]*$", "", regex=True).isin(analyses)
    readings = read_judgements(judgements[mine], options, resources)
    readings["analysis"] = readings["request_id"].str.replace(r"/[^/]*$", "", regex=True)
    by_criterion = readings.pivot(index="analysis", columns="criterion", values="score")
    points = by_criterion.reindex(columns=criteria.index).reindex(analyses).reset_index(drop=True)
    weights = criteria["weight"]
    total = points.mul(weights, axis=1).sum(axis=1, skipna=False)
    score = total / weights.sum() if options.ba_aggregate == "weighted_mean" else total
    outcome = pd.Series(
        [
            analysis_status(status, text, options)
            for status, text in zip(answers["status"], answers["text"], strict=True)
        ],
        dtype=object,
    )
    silence = (
        readings["outcome"].where(readings["outcome"] != "ok").groupby(readings["analysis"]).first().reindex(analyses)
    )
    unread = (outcome == "ok") & score.isna()
    points_in_all = (criteria["max_score"] * weights).sum() / (
        weights.sum() if options.ba_aggregate == "weighted_mean" else 1
    )
    asked = (outcome != "not_applicable").to_numpy()
    return answers.assign(
        outcome=np.where(unread, np.where(silence == AMBIGUOUS, AMBIGUOUS, "unparseable"), outcome),
        detail=np.where(unread, np.where(silence == AMBIGUOUS, _SEVERAL, _UNREADABLE), answers["detail"]),
        refused=(outcome == "refused").to_numpy(float),
        ambiguous=0.0,
        unparseable=(outcome == "unparseable").to_numpy(float),
        unresolved=0.0,
        score=score.to_numpy(),
        **{
            case: np.where(asked, score.fillna(extreme), np.nan)
            for case, extreme in zip(CASE_COLUMNS, (points_in_all, 0.0), strict=True)
        },
        **{name.lower().replace(" ", "_"): points[name].to_numpy() for name in criteria.index},
    )
