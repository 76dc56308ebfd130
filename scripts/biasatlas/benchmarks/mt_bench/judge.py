"""Ask a judge for a grade of each answer, 1 to 10."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mt_bench.items import read_judge_prompts
from biasatlas.benchmarks.mt_bench.spec import GRADES, MTBenchOptions
from biasatlas.benchmarks.shared.prompting import CHAT
from biasatlas.benchmarks.shared.templates import fill_slots

_COLUMNS = ["request_id", "item_id", "messages"]
_WITH_REFERENCE = ("math", "reasoning", "coding")
#: What an answer without a text is judged as: it is not.
_JUDGED = ("ok", "truncated")


def build_judge_requests(step: Step[MTBenchOptions]) -> pd.DataFrame:
    """A choice between the grades for every answer that has a text; the second turn's shows the judge the first, too.

    With ``judge_template: mt_bench`` a reply with an explanation and a grade, as MT-Bench's ``gen_judgment.py`` asks
    for it. ``request_id`` is that of the answer's request. Nothing is asked again: what cannot be read has no grade.
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
    """A reference is shown in math, reasoning and coding alone, as in MT-Bench; of the second turn with both."""
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
