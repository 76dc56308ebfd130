"""Requests to a judge to grade each turn, and its grades; mean grades by field and turn."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contract import Step, figure, metric, table
from biasatlas.benchmarks.mt_bench.items import read_judge_prompts
from biasatlas.benchmarks.mt_bench.spec import DESIGN, FIELDS, GRADES, TURNS, MTBenchOptions
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, mean_of_means, row
from biasatlas.benchmarks.shared.preferences import parse_probabilities
from biasatlas.benchmarks.shared.prompting import CHAT
from biasatlas.benchmarks.shared.templates import fill_slots
from biasatlas.columns import MASSES
from biasatlas.stats.clusters import ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = ["request_id", "item_id", "messages"]
_WITH_REFERENCE = ("math", "reasoning", "coding")
#: Statuses of the answers that are judged.
_JUDGED = ("ok", "truncated")


def build_judge_requests(step: Step[MTBenchOptions]) -> pd.DataFrame:
    """A choice between the grades for every answer that has a text; for a second turn the judge sees the first, too.

    With ``judge_template: mt_bench`` the judge writes an explanation and a grade, as MT-Bench's ``gen_judgment.py``
    asks. ``request_id`` is that of the answer's request. Nothing is asked again: an unreadable reply has no grade.
    """
    released = step.options.judge_template == "mt_bench"
    if released:
        prompts: Mapping[str, Any] = read_judge_prompts(step.resources.path("templates/judge_prompts"))
    else:
        prompts = step.resources.yaml("prompts/mt_bench/judge.yaml")
    question = _released_question if released else _question
    written = step.responses[step.responses["status"].isin(_JUDGED) & step.responses["text"].notna()]
    answers = written.set_index("request_id")["text"]
    asked = step.requests.merge(step.items, on="item_id", validate="many_to_one")
    rows = [
        (row["request_id"], row["item_id"], json.dumps(question(row, answers, prompts), ensure_ascii=False))
        for row in asked[asked["request_id"].isin(answers.index)].to_dict("records")
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).assign(
        kind="generation" if released else "choice",
        labels=json.dumps(GRADES),
        parser="integer",
        temperature=0.0 if released else 1.0,
        max_tokens=step.options.judge_max_tokens,
        repeats=step.options.judge_repeats,
        **CHAT,
    )


def _question(row: dict, answers: pd.Series, prompts: Mapping[str, str]) -> list[dict[str, str]]:
    references = _references(row)
    turns = [
        prompts["turn"].format(
            question=row[f"turn_{turn}"],
            reference=prompts["reference"].format(reference=references[turn - 1]) if references else "",
            answer=answers.get(row["request_id"] if turn == row["turn"] else row["reply_to"], ""),
        )
        for turn in range(1, row["turn"] + 1)
    ]
    ask = prompts["ask"].format(which=prompts["which"][row["turn"] - 1])
    return [{"role": "user", "content": "\n\n".join([*turns, ask])}]


def _released_question(row: dict, answers: pd.Series, prompts: Mapping[str, tuple[str, str]]) -> list[dict[str, str]]:
    """As in MT-Bench references are shown in math, reasoning and coding only; for a second turn, those of both."""
    references = _references(row) if row["category"] in _WITH_REFERENCE else []
    name = f"single{'-math' if references else ''}-v1{'-multi-turn' if row['turn'] == 2 else ''}"
    answer = answers[row["request_id"]]
    texts = {
        "question": row["turn_1"],
        "question_1": row["turn_1"],
        "question_2": row["turn_2"],
        "answer": answer,
        "answer_1": answers.get(row["reply_to"], ""),
        "answer_2": answer,
        **{f"ref_answer_{turn}": text for turn, text in enumerate(references, start=1)},
    }
    system, template = prompts[name]
    return [{"role": "system", "content": system}, {"role": "user", "content": fill_slots(template, texts)}]


def _references(row: dict) -> list[str]:
    return json.loads(row["references"]) if isinstance(row["references"], str) else []


def score_responses(step: Step) -> pd.DataFrame:
    """A row per question of ``category`` and turn: ``score`` is the expected grade, 1 to 10, over what could be read.

    For a reply in words it is the number in double brackets, else in single ones, as MT-Bench's ``common.py`` reads it;
    for several replies (``judge_repeats``) the mean of the grades that they state.

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
        grades = step.judgements["text"].map(stated_grade, na_action="ignore").astype(float)
        score = grades.groupby(step.judgements["request_id"]).mean().reindex(asked["request_id"]).to_numpy(float)
    else:
        masses = parse_probabilities(columns["probabilities"], GRADES)
        total = masses.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            score = np.where(total > 0, masses @ np.array(GRADES, float) / total, np.nan)
    lacking = columns["status"].where(~columns["status"].isin(["ok"]), "unparseable").fillna("failed").to_numpy()
    unanswered = ~answers.isin(["ok", "truncated"]).to_numpy()
    status = np.where(np.isfinite(score), "ok", np.where(unanswered, answers.to_numpy(), lacking))
    said = ["", "no answer to grade", "the judge did not answer"]
    detail = np.select([status == "ok", unanswered, status == "failed"], said, "the judge names no grade")
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
    """The grade that a reply states, 1 to 10; missing where it states none, or a number outside that range."""
    found = re.search(r"\[\[(\d+\.?\d*)\]\]", reply) or re.search(r"\[(\d+\.?\d*)\]", reply)
    grade = float(found[1]) if found else np.nan
    return grade if 1 <= grade <= 10 else np.nan


(_QUESTION,) = DESIGN["question"].scores
_BOUNDS = (1.0, 10.0)
#: Whose questions a row is about.
_YOURS, _THEIRS = "these", "GPT-4's translation (Table 12 of TWBias, judged by GPT4-0613)"


@table("scores")
def scores_table(step: Step) -> pd.DataFrame:
    """Mean grade by field, and the mean over fields, of both turns and of each."""
    rows = [row for model, of_model in step.scores.groupby("model", sort=False) for row in _of_model(model, of_model)]
    return make_table(("model", "category", "turn"), rows)


@table("other_translation")
def other_translation(step: Step) -> pd.DataFrame:
    """The grades of these questions, and under them those that TWBias printed, for another translation and judge.

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
    mean = mean_of_means([field["score"] for field in fields], [field[_QUESTION] for field in fields], _BOUNDS)
    return Estimate.of(mean, n)


@figure("scores")
def grades(step: Step) -> "Figure":
    """Mean grade and interval of both turns, by field and over all of them."""
    from biasatlas.benchmarks.shared.plots import dot_intervals

    table = step.tables["scores"]
    return dot_intervals(
        table[table["turn"] == "both"],
        "category",
        step.styles,
        label="mean grade of the judge (1 to 10), 95% interval",
        order=(*FIELDS, "mean"),
        limits=(1, 10),
        empty="no answer has a grade",
    )
