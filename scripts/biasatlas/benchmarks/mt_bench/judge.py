"""Ask a judge for a grade of each answer, 1 to 10."""

import json

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mt_bench.spec import GRADES, MTBenchOptions

_COLUMNS = ["request_id", "item_id", "messages"]
#: What an answer without a text is judged as: it is not.
_JUDGED = ("ok", "truncated")


def build_judge_requests(step: Step[MTBenchOptions]) -> pd.DataFrame:
    """A choice between the grades for every answer that has a text; the second turn's shows the judge the first, too.

    ``request_id`` is that of the answer's request. Nothing is asked again: what cannot be read has no probability.
    """
    prompts = step.resources.yaml("prompts/mt_bench/judge.yaml")
    written = step.responses[step.responses["status"].isin(_JUDGED) & step.responses["text"].notna()]
    answers = written.set_index("request_id")["text"]
    asked = step.requests.merge(step.items, on="item_id", validate="many_to_one")
    rows = [
        (row["request_id"], row["item_id"], _question(row, answers, prompts))
        for row in asked[asked["request_id"].isin(answers.index)].to_dict("records")
    ]
    return pd.DataFrame(rows, columns=_COLUMNS).assign(
        kind="choice",
        prefix="",
        template="tokenizer",
        special_tokens="once",
        labels=json.dumps(GRADES),
        parser="integer",
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        repetition_penalty=1.0,
        frequency_penalty=0.0,
        max_tokens=step.options.judge_max_tokens,
        repeats=step.options.judge_repeats,
    )


def _question(row: dict, answers: pd.Series, prompts: dict[str, str]) -> str:
    references = json.loads(row["references"]) if isinstance(row["references"], str) else []
    turns = [
        prompts["turn"].format(
            question=row[f"turn_{turn}"],
            reference=prompts["reference"].format(reference=references[turn - 1]) if references else "",
            answer=answers.get(row["request_id"] if turn == row["turn"] else row["reply_to"], ""),
        )
        for turn in range(1, row["turn"] + 1)
    ]
    ask = prompts["ask"].format(which=prompts["which"][row["turn"] - 1])
    return json.dumps([{"role": "user", "content": "\n\n".join([*turns, ask])}], ensure_ascii=False)
