# Judgements: what a judge model says of a model's answers, for the tasks that are scored by a judge.
#   REQUIRED INPUTS: responses/{model}/{benchmark}/{protocol}/{task}.parquet, the judge model
#   OUTPUTS: judge/requests/... and judge/responses/{model}/{benchmark}/{protocol}/{task}.parquet;
#   judge/orders/{benchmark}/{task}.parquet, before requests are built, where a protocol asks for them


rule judge_responses:
    """Let the judge model judge every answer; what cannot be read is asked again."""
    input:
        ready=lambda w: ready_inputs(judge_of(w.benchmark), language_of(w.benchmark)),
        items_file=ITEMS,
        requests=REQUESTS,
        responses=RESPONSES,
        prompts=prompts_of,
    output:
        requests=JUDGE_REQUESTS,
        judgements=JUDGEMENTS,
    log:
        log_of("judge_responses", "model", "benchmark", "protocol", "task"),
    benchmark:
        bench_of("judge_responses", "model", "benchmark", "protocol", "task")
    conda:
        lambda w: "../envs/model-gpu.yaml" if gpus(judge_of(w.benchmark)) else "../envs/model.yaml"
    threads: lambda w: model_threads(judge_of(w.benchmark))
    resources:
        api=lambda w: int(CONFIG.models[judge_of(w.benchmark)].kind == "api"),
        gpu=lambda w: gpus(judge_of(w.benchmark)),
        mem_mb=lambda w, attempt: int((4000 + 3000 * size_billion(judge_of(w.benchmark))) * attempt),
        runtime=lambda w, attempt: int((60 + 60 * size_billion(judge_of(w.benchmark))) * attempt),
    params:
        code=lambda w: code_hash(
            "judge_responses", f"benchmarks.{w.benchmark}.judge", f"benchmarks.{w.benchmark}.readers"
        ),
        judge=lambda w: judge_of(w.benchmark),
        model=lambda w: model_params(judge_of(w.benchmark), language_of(w.benchmark)),
        protocol=lambda w: PROTOCOLS[w.benchmark, w.protocol],
        store=judge_store,
    script:
        "../scripts/judge_responses.py"


rule order_contexts:
    """Let the judge model say of every item whether its context or its sentence comes first."""
    input:
        ready=lambda w: ready_inputs(judge_of(w.benchmark), language_of(w.benchmark)),
        items_file=ITEMS,
        prompts=prompts_of,
    output:
        orders=ORDERS,
    log:
        log_of("order_contexts", "benchmark", "task"),
    benchmark:
        bench_of("order_contexts", "benchmark", "task")
    conda:
        lambda w: "../envs/model-gpu.yaml" if gpus(judge_of(w.benchmark)) else "../envs/model.yaml"
    threads: lambda w: model_threads(judge_of(w.benchmark))
    resources:
        api=lambda w: int(CONFIG.models[judge_of(w.benchmark)].kind == "api"),
        gpu=lambda w: gpus(judge_of(w.benchmark)),
        mem_mb=lambda w, attempt: int((4000 + 3000 * size_billion(judge_of(w.benchmark))) * attempt),
        runtime=lambda w, attempt: int((60 + 60 * size_billion(judge_of(w.benchmark))) * attempt),
    params:
        code=lambda w: code_hash("order_contexts", f"benchmarks.{w.benchmark}.judge"),
        judge=lambda w: judge_of(w.benchmark),
        model=lambda w: model_params(judge_of(w.benchmark), language_of(w.benchmark)),
        categories=lambda w: plan.categories(CONFIG, w.benchmark, w.task),
        store=judge_store,
    script:
        "../scripts/order_contexts.py"
