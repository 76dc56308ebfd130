"""MT-Bench as the workflow sees it."""

from biasatlas.benchmarks.contract import Figure, Headline, Metric, Shown, Spec, Table, Task
from biasatlas.benchmarks.mt_bench.columns import DESIGN, ITEM_COLUMNS, REQUEST_KEYS, SCORE_COLUMNS
from biasatlas.benchmarks.mt_bench.options import MTBenchOptions
from biasatlas.benchmarks.mt_bench.vocabulary import FIELDS

_TASKS = ("answer",)

SPEC = Spec(
    title="MT-Bench in Traditional Chinese",
    language="zh-Hant",
    citation="Zheng et al. 2023. Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena. NeurIPS Datasets and Benchmarks.",
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
    files={"questions": "questions of two turns, in MT-Bench's own format"},
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
    shown={"answer": Shown("score", unit="points", key=("item_id", "turn"), texts=("turn_1", "turn_2"))},
)
