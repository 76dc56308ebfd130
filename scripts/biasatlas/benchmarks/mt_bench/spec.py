"""What MT-Bench declares: its names, columns and options, and what the workflow plans with."""

from typing import Literal

from biasatlas.benchmarks.contract import Figure, Headline, Metric, Need, Options, ScoreView, Spec, Table, Task
from biasatlas.columns import MASSES, Columns, Factor
from biasatlas.stages import field

FIELDS = ("coding", "extraction", "humanities", "math", "reasoning", "roleplay", "stem", "writing")

TURNS = (1, 2)

#: Grades of the judge.
GRADES = tuple(str(grade) for grade in range(1, 11))

#: ``references`` is a JSON list of an answer for each turn, or missing where nothing says what is right.
ITEM_COLUMNS: Columns = {
    "item_id": "string",
    "category": "string",
    "turn_1": "string",
    "turn_2": "string",
    "references": "string",
}

#: ``reply_to`` is the request whose reply stands before this one's last message (:mod:`biasatlas.models.scheduling`).
REQUEST_KEYS: Columns = {"turn": "integer", "reply_to": "string"}

#: ``score`` is the judge's grade, 1 to 10, missing unless ``status`` is "ok"; the masses are of the judge's replies.
SCORE_COLUMNS = ("item_id", "turn", "score", *MASSES, "status", "detail")

#: Both turns of a question are about the same.
DESIGN = {
    "question": Factor(scores=("item_id",), items=("item_id",), sampled=True),
    "turn": Factor(scores=("turn",)),
}


class MTBenchOptions(Options):
    """How questions are answered, and how the judge grades."""

    temperature: Literal["by_field", "greedy"] = field(
        "answers",
        description="`by_field`: 0.7 in writing and roleplay, 0.1 in STEM and humanities, 0 elsewhere; `greedy`: "
        "0 everywhere",
    )
    max_tokens: int = field("answers", gt=0, le=131_072, description="Longest answer of a turn, in tokens")
    judge_template: Literal["ours", "mt_bench"] = field(
        "judgements",
        description="`ours` asks the judge for the grade alone; `mt_bench`: MT-Bench's four prompts ask for an "
        "explanation and a grade in brackets, at temperature 0",
    )
    judge_max_tokens: int = field("judgements", gt=0, le=4096, description="Longest reply of the judge, in tokens")
    judge_repeats: int = field(
        "judgements", gt=0, le=100, description="How many grades to sample from a judge that gives no probabilities"
    )


_TASKS = ("answer",)

SPEC = Spec(
    title="MT-Bench in Traditional Chinese",
    language="zh-Hant",
    citation="Zheng et al. 2023. Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena. NeurIPS Datasets and "
    "Benchmarks.",
    options=MTBenchOptions,
    sources=(),
    sample="mt_bench",
    items=ITEM_COLUMNS,
    design=DESIGN,
    tasks={
        "answer": Task(kind="generation", categories=FIELDS, scores=SCORE_COLUMNS, requests=REQUEST_KEYS, judged=True)
    },
    tables={
        "scores": Table("Mean grade of the judge by field and turn", _TASKS),
        "other_translation": Table("These questions, and what TWBias printed of others (its Table 12)", _TASKS),
    },
    figures={"scores": Figure("Mean grade of the judge by field", ("scores",))},
    metrics={
        "judge_score": Metric(
            None, "1 to 10, by one judge: how well questions are answered. Measures no bias", "points"
        )
    },
    resources={"judge": ("prompts/mt_bench/judge.yaml",), "tables": ("published/twbias_mt_bench.csv",)},
    files={
        "questions": "questions of two turns, in MT-Bench's own format",
        "judge_prompts": "the prompts of MT-Bench's judge: its judge_prompts.jsonl",
    },
    requirements=(
        Need(
            "judge_template",
            "mt_bench",
            step="judge",
            file="judge_prompts",
            copied="`fastchat/llm_judge/data/judge_prompts.jsonl` of lm-sys/FastChat",
        ),
    ),
    headlines=(
        Headline(
            name="answers",
            question="How well does it answer, as a judge grades it?",
            table="scores",
            rows={"category": "mean", "turn": "both"},
            metric="judge_score",
            null=None,
            reason="a grade of answers measures no bias",
            by=("category",),
        ),
    ),
    shown={"answer": ScoreView("score", unit="points", key=("item_id", "turn"), texts=("turn_1", "turn_2"))},
)
