# Scores: one item's score, its ingredients and its status. Reads files only: a better metric asks no model again.
#   REQUIRED INPUTS: items, requests and responses
#   OUTPUTS: scores/{model}/{benchmark}/{protocol}/{task}.csv; multiverse/{model}/{benchmark}/{protocol}.csv


rule score_responses:
    """Score a model's responses to one task."""
    input:
        items_file=PATHS.items,
        requests=PATHS.requests,
        responses=PATHS.responses,
        stop=find.stop,
        judgements=find.judgements,
        resources=find.files_for(find.resources("scores")),
    output:
        scores=PATHS.scores,
        provenance=PATHS.scored_from,
    log:
        PATHS.log("score_responses", "model", "benchmark", "protocol", "task"),
    benchmark:
        PATHS.run_time("score_responses", "model", "benchmark", "protocol", "task")
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
