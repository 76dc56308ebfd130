# Judgements: what a judge model says of a model's answers, for the tasks that are scored by a judge.
#   REQUIRED INPUTS: responses/{model}/{benchmark}/{protocol}.parquet, the judge model
#   OUTPUTS: judge/requests/... and judge/responses/{model}/{benchmark}/{protocol}/{task}.parquet;
#   judge/orders/{benchmark}/{task}.parquet, before requests are built, where a protocol asks for them


rule judge_responses:
    """Let the judge model judge every answer; what cannot be read is asked again."""
    input:
        ready=ready(judge),
        items_file=PATHS.items,
        requests=PATHS.requests,
        responses=PATHS.responses,
        resources=shipped("judge"),
        wording=wording("judge"),
        wording_checksums=wording_checksums("judge"),
    output:
        requests=PATHS.judge_requests,
        judgements=PATHS.judgements,
    log:
        PATHS.log("judge_responses", "model", "benchmark", "protocol", "task"),
    benchmark:
        PATHS.run_time("judge_responses", "model", "benchmark", "protocol", "task")
    conda:
        environment(judge)
    threads: work(judge, "threads")
    resources:
        gpu=work(judge, "gpu"),
        api=work(judge, "api"),
        mem_mb=work(judge, "mem_mb"),
        runtime=work(judge, "runtime"),
    params:
        code=code("judge_responses"),
        shipped=shipped_digest("judge"),
        wording=wording_names("judge"),
        options=options("judgements"),
        model=identity(judge),
        failing_runs=unanswered(judge, "judge-{model}-{benchmark}-{protocol}-{task}"),
    script:
        "../scripts/judge_responses.py"


rule order_contexts:
    """Let the judge model say of every item whether its context or its sentence comes first."""
    input:
        ready=ready(judge),
        items_file=PATHS.items,
        resources=shipped("judge"),
        wording=wording("judge"),
        wording_checksums=wording_checksums("judge"),
    output:
        orders=PATHS.orders,
    log:
        PATHS.log("order_contexts", "benchmark", "task"),
    benchmark:
        PATHS.run_time("order_contexts", "benchmark", "task")
    conda:
        environment(judge)
    threads: work(judge, "threads")
    resources:
        gpu=work(judge, "gpu"),
        api=work(judge, "api"),
        mem_mb=work(judge, "mem_mb"),
        runtime=work(judge, "runtime"),
    params:
        code=code("order_contexts"),
        shipped=shipped_digest("judge"),
        wording=wording_names("judge"),
        categories=categories,
        model=identity(judge),
    script:
        "../scripts/order_contexts.py"
