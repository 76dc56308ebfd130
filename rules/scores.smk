# Scores: one item's score, its ingredients and its status. Reads files only: a better metric asks no model again.
#   REQUIRED INPUTS: items, requests and responses
#   OUTPUTS: scores/{model}/{benchmark}/{protocol}/{task}/{category}.csv


def judgements(wildcards):
    """What a judge says of the answers, where a task is scored by one."""
    return PATHS.judgements if CONFIG.spec(wildcards.benchmark).tasks[wildcards.task].judged else []


# A rule each, since outputs must be known before wildcards are: a task's categories.
for benchmark, task in [(name, task) for name in CONFIG.benchmarks for task in selection.tasks_asked(CONFIG, name)]:

    rule:
        """Score a model's responses to one task, a file per category."""
        name:
            f"score_{benchmark}_{task}"
        input:
            items_file=PATHS.items,
            requests=PATHS.requests,
            responses=PATHS.responses,
            judgements=judgements,
            resources=shipped("scores"),
        output:
            scores=expand(PATHS.scores, category=selection.categories(CONFIG, benchmark, task), allow_missing=True),
            provenance=PATHS.scored_from,
        log:
            PATHS.log(f"score_{benchmark}_{task}", "model", "benchmark", "protocol", "task"),
        benchmark:
            PATHS.run_time(f"score_{benchmark}_{task}", "model", "benchmark", "protocol", "task")
        wildcard_constraints:
            benchmark=benchmark,
            task=task,
        group:
            "results"
        conda:
            "../envs/data.yaml"
        params:
            code=code("score_responses", "benchmarks.{benchmark}.scores", "benchmarks.{benchmark}.columns"),
            shipped=shipped_digest("scores"),
            options=options("scores"),
            model=identity(model),
            categories=categories,
        script:
            "../scripts/score_responses.py"
