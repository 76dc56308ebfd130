# Scores: one item's score, its ingredients and its status. Reads files only: a better metric asks no model again.
#   REQUIRED INPUTS: items, requests and responses
#   OUTPUTS: scores/{model}/{benchmark}/{protocol}/{task}/{category}.csv;
#            task_scores/{model}/{benchmark}/{protocol}/{task}.parquet; multiverse/{model}/{benchmark}/{protocol}.csv

# A rule for each set of tasks with the same categories, since outputs must be known before wildcards are.
for name, benchmark, score_categories, score_tasks in selection.tasks_by_categories(CONFIG):

    rule:
        """Score a model's responses to one task: a file per category, and one of all, which later steps read."""
        name:
            f"score_{name}"
        input:
            items_file=PATHS.items,
            requests=PATHS.requests,
            responses=PATHS.responses,
            stop=find.stop,
            judgements=find.judgements,
            resources=find.files_for(find.resources("scores")),
        output:
            task_scores=PATHS.task_scores,
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
            step=find.step("scores", "score_responses", model=jobs.identity("model"), categories=find.categories),
        script:
            "../scripts/score_responses.py"


rule score_again:
    """Score a model's responses under every choice of analysis."""
    input:
        items_file=PATHS.items,
        requests=find.files_for(find.unjudged_requests),
        responses=PATHS.responses,
        resources=find.files_for(find.resources("multiverse")),
    output:
        table=PATHS.multiverse,
    log:
        PATHS.log("score_again", "model", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("score_again", "model", "benchmark", "protocol")
    conda:
        "../envs/data.yaml"
    params:
        step=find.step(
            "multiverse",
            "score_again",
            requests=find.unjudged_requests,
            categories=find.categories_of(find.unjudged_requests),
        ),
    script:
        "../scripts/score_again.py"
