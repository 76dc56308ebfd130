# Scores: one item's score, its ingredients and its status. Reads files only: a better metric asks no model again.
#   REQUIRED INPUTS: items, requests and responses
#   OUTPUTS: scores/{model}/{benchmark}/{protocol}/{task}/{category}.csv

for benchmark, task in [(name, task) for name in BENCHMARKS for task in tasks_of(name)]:

    rule:
        name:
            f"score_{benchmark}_{task}"
        input:
            items_file=kept(ITEMS, benchmark=benchmark),
            requests=kept(REQUESTS, benchmark=benchmark, task=task),
            responses=kept(RESPONSES, benchmark=benchmark, task=task),
            judgements=(
                kept(JUDGEMENTS, benchmark=benchmark, task=task) if BENCHMARKS[benchmark].tasks[task].judged else []
            ),
        output:
            scores=expand(
                kept(SCORES, benchmark=benchmark, task=task),
                category=plan.categories(CONFIG, benchmark, task),
                allow_missing=True,
            ),
            provenance=kept(SCORED_FROM, benchmark=benchmark, task=task),
        log:
            log_of(f"score_{benchmark}_{task}", "model", "protocol"),
        benchmark:
            bench_of(f"score_{benchmark}_{task}", "model", "protocol")
        group:
            "results"
        conda:
            "../envs/data.yaml"
        params:
            code=code_hash("score_responses", f"benchmarks.{benchmark}.scores"),
            benchmark=benchmark,
            task=task,
            model=lambda w: origin_params(w.model),
            protocol=lambda w, benchmark=benchmark: PROTOCOLS[benchmark, w.protocol],
            categories=plan.categories(CONFIG, benchmark, task),
        script:
            "../scripts/score_responses.py"

    describe(
        f"score_{benchmark}_{task}",
        f"Score a model's responses to the task {task} of {BENCHMARKS[benchmark].title}, a file per category.",
    )
