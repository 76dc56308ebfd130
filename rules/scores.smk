# Scores: one item's score, its ingredients and its status. Reads files only: a better metric asks no model again.
#   REQUIRED INPUTS: items, requests and responses
#   OUTPUTS: scores/{model}/{benchmark}/{protocol}/{task}/{category}.csv


def judgements(wildcards):
    """What a judge says of the answers, where a task is scored by one."""
    return PATHS.judgements if CONFIG.spec(wildcards.benchmark).tasks[wildcards.task].judged else []


# A rule each, since outputs must be known before wildcards are: tasks that have the same categories.
for name, benchmark, score_categories, score_tasks in selection.tasks_by_categories(CONFIG):

    rule:
        """Score a model's responses to one task, a file per category."""
        name:
            f"score_{name}"
        input:
            items_file=PATHS.items,
            requests=PATHS.requests,
            responses=PATHS.responses,
            judgements=judgements,
            resources=shipped("scores"),
        output:
            scores=expand(PATHS.scores, category=score_categories, allow_missing=True),
            provenance=PATHS.scored_from,
        log:
            PATHS.log("score_responses", "model", "benchmark", "protocol", "task"),
        benchmark:
            PATHS.run_time("score_responses", "model", "benchmark", "protocol", "task")
        wildcard_constraints:
            benchmark=benchmark,
            task=any_of(score_tasks),
        group:
            "results"
        conda:
            "../envs/data.yaml"
        params:
            code=code("score_responses"),
            shipped=shipped_digest("scores"),
            options=options("scores"),
            model=identity(model),
            categories=categories,
        script:
            "../scripts/score_responses.py"
