# Responses: the only step that needs a GPU or an API. A job opens its model once and answers all of a benchmark. And
# judgements: what a judge model says of a model's answers, for the tasks that are scored by a judge.
#   REQUIRED INPUTS: requests/{benchmark}/{protocol}/{task}.parquet, a model that is ready, a judge that is ready
#   OUTPUTS: responses/{model}/{benchmark}/{protocol}.parquet; store/{model}/ keeps answers, batch by batch;
#            judge/{requests,responses}/{model}/{benchmark}/{protocol}/{task}.parquet;
#            judge/orders/{benchmark}/{task}.parquet, before requests are built;
#            replies/{benchmark}/{protocol}/second_parse/, where a model parses replies again
#   A model with shards answers in several jobs, whose files in {protocol}/{shard}.parquet are joined.


rule answer_requests:
    """Let a model of any kind answer the requests of a benchmark that it can, or a shard of them."""
    input:
        ready=jobs.ready("model"),
        requests=find.files_for(find.requests),
        items_file=find.simulated_items,
    output:
        responses=PATHS.responses,
        run=PATHS.run,
    log:
        PATHS.log("answer_requests", "model", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("answer_requests", "model", "benchmark", "protocol")
    wildcard_constraints:
        model=any_of(jobs.unsharded),
        benchmark=any_of(name for name in CONFIG.benchmarks if name not in selection.in_rounds(CONFIG)),
    priority: 20
    group:
        find.response_group
    conda:
        jobs.environment("model")
    threads: jobs.threads("model")
    resources:
        **jobs.resources("model"),
    params:
        step=find.step(
            "",
            requests=find.requests,
            model=jobs.identity("model"),
            failing_runs=jobs.failing_runs("model", "{benchmark}-{protocol}"),
        ),
    script:
        "../scripts/answer_requests.py"


use rule answer_requests as answer_shard with:
    output:
        responses=PATHS.shard,
        run=PATHS.shard_run,
    log:
        PATHS.log("answer_shard", "model", "benchmark", "protocol", "shard"),
    benchmark:
        PATHS.run_time("answer_shard", "model", "benchmark", "protocol", "shard")
    wildcard_constraints:
        model=any_of(jobs.sharded),


if selection.in_rounds(CONFIG):

    rule answer_in_rounds:
        """Ask a model a part of a benchmark, then more of it, and so on, until the report's verdict is there."""
        input:
            ready=jobs.ready("model"),
            requests=find.files_for(find.requests),
            items_file=PATHS.items,
            resources=find.files_for(find.resources("scores")),
            cards=files(CARDS),
        output:
            responses=PATHS.responses,
            run=PATHS.run,
            stop=PATHS.stop,
        log:
            PATHS.log("answer_in_rounds", "model", "benchmark", "protocol"),
        wildcard_constraints:
            benchmark=any_of(selection.in_rounds(CONFIG)),
        priority: 20
        conda:
            jobs.environment("model")
        threads: jobs.threads("model")
        resources:
            **jobs.resources("model"),
        params:
            step=find.step(
                "scores",
                "answer_in_rounds",
                requests=find.requests,
                model=jobs.identity("model"),
                failing_runs=jobs.failing_runs("model", "{benchmark}-{protocol}"),
                categories=find.asked_categories,
                families=find.families,
                cards=CARDS,
                budget=jobs.budget,
            ),
        script:
            "../scripts/answer_in_rounds.py"


rule gather_responses:
    """Join the shards of a model's responses."""
    input:
        requests=find.files_for(find.requests),
        shards=jobs.shards(PATHS.shard),
        runs=jobs.shards(PATHS.shard_run),
    output:
        responses=PATHS.responses,
        run=PATHS.run,
    log:
        PATHS.log("gather_responses", "model", "benchmark", "protocol"),
    wildcard_constraints:
        model=any_of(jobs.sharded),
    group:
        find.gathering_group
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", requests=find.requests),
    script:
        "../scripts/gather_responses.py"


rule judge_responses:
    """Let the judge model judge every answer; what cannot be read is asked again."""
    input:
        ready=jobs.ready("judge"),
        items_file=PATHS.items,
        requests=PATHS.requests,
        responses=PATHS.responses,
        resources=find.files_for(find.resources("judge")),
        template_checksums=find.template_checksums("judge"),
    output:
        requests=PATHS.judge_requests,
        judgements=PATHS.judgements,
    log:
        PATHS.log("judge_responses", "model", "benchmark", "protocol", "task"),
    benchmark:
        PATHS.run_time("judge_responses", "model", "benchmark", "protocol", "task")
    conda:
        jobs.environment("judge")
    threads: jobs.threads("judge")
    resources:
        **jobs.resources("judge"),
    params:
        step=find.step(
            "judge",
            "judge_responses",
            model=jobs.identity("judge"),
            failing_runs=jobs.failing_runs("judge", "judge-{model}-{benchmark}-{protocol}-{task}"),
        ),
    script:
        "../scripts/judge_responses.py"


rule order_contexts:
    """Let the judge model say of every item whether its context or its sentence comes first."""
    input:
        ready=jobs.ready("judge"),
        items_file=PATHS.items,
        resources=find.files_for(find.resources("orders")),
        template_checksums=find.template_checksums("orders"),
    output:
        orders=PATHS.orders,
    log:
        PATHS.log("order_contexts", "benchmark", "task"),
    benchmark:
        PATHS.run_time("order_contexts", "benchmark", "task")
    conda:
        jobs.environment("judge")
    threads: jobs.threads("judge")
    resources:
        **jobs.resources("judge"),
    params:
        step=find.step("orders", "order_contexts", categories=find.categories, model=jobs.identity("judge")),
    script:
        "../scripts/order_contexts.py"


rule build_second_requests:
    """Build requests that ask what unparsed replies, and a sample of the others, answer."""
    input:
        answers=find.files_for(find.answers),
    output:
        requests=PATHS.second_parse("requests"),
    log:
        PATHS.log("build_second_requests", "benchmark", "protocol"),
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("", "build_second_requests", answers=find.answers),
    script:
        "../scripts/build_second_requests.py"


rule parse_with_model:
    """Let another model parse those replies."""
    input:
        ready=jobs.ready("second_parser"),
        requests=PATHS.second_parse("requests"),
    output:
        responses=PATHS.second_parse("responses"),
    log:
        PATHS.log("parse_with_model", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("parse_with_model", "benchmark", "protocol")
    conda:
        jobs.environment("second_parser")
    threads: jobs.threads("second_parser")
    resources:
        **jobs.resources("second_parser"),
    params:
        step=find.step(
            "",
            "parse_with_model",
            model=jobs.identity("second_parser"),
            failing_runs=jobs.failing_runs("second_parser", "second_parse-{benchmark}-{protocol}"),
        ),
    script:
        "../scripts/parse_with_model.py"
