"""The judge's grade of each turn."""

import re

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mt_bench.spec import GRADES
from biasatlas.benchmarks.shared.preferences import parse_probabilities
from biasatlas.columns import MASSES


def score_responses(step: Step) -> pd.DataFrame:
    """A row per question of ``category`` and turn: ``score`` is the expected grade, 1 to 10, over what could be read.

    Of a reply in words it is the number in double brackets, else in single ones, as MT-Bench's ``common.py`` reads it.

    ``status`` is "ok" where there is one; else that of the answer, or of the judge's reply ("unparseable" where it
    named no grade). A judge that refuses has graded nothing.
    """
    if step.judgements is None:
        raise ValueError(
            "MT-Bench is scored from a judge's grades, and there are none. Name a judge in the benchmark's section"
        )
    asked = step.requests.merge(step.items.loc[step.items["category"] == step.category, ["item_id"]], on="item_id")
    answers = step.responses.set_index("request_id")["status"].reindex(asked["request_id"]).fillna("failed")
    judged = step.judgements.drop_duplicates("request_id").set_index("request_id").reindex(asked["request_id"])
    columns = judged.reindex(columns=["probabilities", "status"])
    if "text" in judged:
        score = judged["text"].map(stated_grade, na_action="ignore").to_numpy(float)
    else:
        masses = parse_probabilities(columns["probabilities"], GRADES)
        total = masses.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            score = np.where(total > 0, masses @ np.array(GRADES, float) / total, np.nan)
    lacking = columns["status"].where(~columns["status"].isin(["ok"]), "unparseable").fillna("failed").to_numpy()
    unanswered = ~answers.isin(["ok", "truncated"]).to_numpy()
    status = np.where(np.isfinite(score), "ok", np.where(unanswered, answers.to_numpy(), lacking))
    detail = np.select([status == "ok", unanswered], ["", "no answer to grade"], "the judge names no grade")
    return pd.DataFrame(
        {
            "item_id": asked["item_id"].to_numpy(),
            "turn": asked["turn"].to_numpy(),
            "score": score,
            **{name: judged[name].to_numpy() if name in judged else np.nan for name in MASSES},
            "status": status,
            "detail": detail,
        }
    )


def stated_grade(reply: str) -> float:
    """The grade that a reply states, 1 to 10; missing where it states none. Another number is none."""
    found = re.search(r"\[\[(\d+\.?\d*)\]\]", reply) or re.search(r"\[(\d+\.?\d*)\]", reply)
    grade = float(found[1]) if found else np.nan
    return grade if 1 <= grade <= 10 else np.nan
