# Responses: the only step that needs a GPU or an API. A job loads its model once and answers every task of a benchmark.
#   REQUIRED INPUTS: requests/{benchmark}/{protocol}/{task}.parquet, a model
#   OUTPUTS: responses/{model}/{benchmark}/{protocol}/{task}.parquet; store/{model}/ keeps each answer as it comes
#   A model with shards answers in several jobs, whose files in {protocol}/{shard}/ are joined.


localrules:
    check_endpoint,


rule check_endpoint:
    """Check, before anything is paid for, that an endpoint is there and knows our key and the model."""
    output:
        touch(CHECKED),
    log:
        log_of("check_endpoint", "model"),
    wildcard_constraints:
        model=any_of(models_of("api")),
    priority: 100
    conda:
        "../envs/api.yaml"
    params:
        code=code_hash("check_endpoint"),
    script:
        "../scripts/check_endpoint.py"


for name, benchmark, responses, models, wildcards in local_jobs():

    rule:
        name:
            name
        input:
            weights=lambda w, benchmark=benchmark: weights_of(w.model, language_of(benchmark)),
            requests=expand(kept(REQUESTS, benchmark=benchmark), task=tasks_of(benchmark), allow_missing=True),
        output:
            responses=expand(kept(responses, benchmark=benchmark), task=tasks_of(benchmark), allow_missing=True),
        log:
            log_of(name, *wildcards),
        benchmark:
            bench_of(name, *wildcards)
        wildcard_constraints:
            model=any_of(models),
        conda:
            lambda w: "../envs/model-gpu.yaml" if gpus(w.model) else "../envs/model.yaml"
        threads: lambda w: model_threads(w.model)
        resources:
            gpu=lambda w: gpus(w.model),
            mem_mb=lambda w, attempt: int((4000 + 3000 * size_billion(w.model)) * attempt),
            runtime=lambda w, attempt: int((20 + 20 * size_billion(w.model)) * attempt),
        params:
            code=code_hash("answer_requests", f"benchmarks.{benchmark}.readers"),
            benchmark=benchmark,
            model=lambda w, benchmark=benchmark: model_params(w.model, language_of(benchmark)),
            # A task's own: what one finds there would change how the rest is batched, and with it the last digits.
            stores=expand(f"{STORE}/{benchmark}/{{protocol}}/{{task}}", task=tasks_of(benchmark), allow_missing=True),
        script:
            "../scripts/answer_requests.py"

    describe(
        name,
        f"Let a local model answer {'a shard' if 'shard' in wildcards else 'every one'} of the requests of "
        f"{BENCHMARKS[benchmark].title}.",
    )


rule gather_responses:
    """Join the shards of a model's responses to one task."""
    input:
        requests=REQUESTS,
        shards=lambda w: expand(SHARD, **w, shard=shards_of(w.model)),
    output:
        responses=RESPONSES,
    log:
        log_of("gather_responses", "model", "benchmark", "protocol", "task"),
    wildcard_constraints:
        model=any_of(sharded_models()),
    # With the scores, except where a judge's own job comes between.
    group:
        lambda w: None if BENCHMARKS[w.benchmark].tasks[w.task].judged else "results"
    conda:
        "../envs/data.yaml"
    params:
        code=code_hash("gather_responses"),
    script:
        "../scripts/gather_responses.py"


for benchmark, tasks in masked_jobs():

    rule:
        name:
            f"answer_masked_{benchmark}"
        input:
            weights=lambda w: weights_of(w.model),
            requests=expand(kept(REQUESTS, benchmark=benchmark), task=tasks, allow_missing=True),
        output:
            responses=expand(kept(RESPONSES, benchmark=benchmark), task=tasks, allow_missing=True),
        log:
            log_of(f"answer_masked_{benchmark}", "model", "protocol"),
        benchmark:
            bench_of(f"answer_masked_{benchmark}", "model", "protocol")
        wildcard_constraints:
            model=any_of(models_of("masked")),
        conda:
            lambda w: "../envs/model-gpu.yaml" if gpus(w.model) else "../envs/model.yaml"
        threads: 8
        resources:
            gpu=lambda w: gpus(w.model),
            mem_mb=lambda w, attempt: int((4000 + 3000 * size_billion(w.model)) * attempt),
            runtime=lambda w, attempt: int((20 + 20 * size_billion(w.model)) * attempt),
        params:
            code=code_hash("answer_masked"),
            model=lambda w: model_params(w.model),
        script:
            "../scripts/answer_masked.py"

    describe(
        f"answer_masked_{benchmark}",
        f"Let a masked language model answer the requests of {BENCHMARKS[benchmark].title} that it can.",
    )


for name, benchmark, tasks, models in endpoint_jobs():

    rule:
        name:
            name
        input:
            checked=ancient(CHECKED),
            requests=expand(
                kept(REQUESTS, benchmark=benchmark),
                task=tasks,
                allow_missing=True,
            ),
        output:
            responses=expand(
                kept(RESPONSES, benchmark=benchmark),
                task=tasks,
                allow_missing=True,
            ),
        log:
            log_of(name, "model", "protocol"),
        wildcard_constraints:
            model=any_of(models),
        conda:
            "../envs/api.yaml"
        resources:
            api=1,
        params:
            code=code_hash("call_endpoint", f"benchmarks.{benchmark}.readers"),
            benchmark=benchmark,
            model=lambda w: model_params(w.model),
            store=STORE,
        script:
            "../scripts/call_endpoint.py"

    describe(name, f"Let an endpoint answer every request of {BENCHMARKS[benchmark].title}.")


for benchmark in [name for name, spec in BENCHMARKS.items() if spec.released_tasks]:

    rule:
        name:
            f"import_{benchmark}"
        input:
            items_file=kept(ITEMS, benchmark=benchmark),
            requests=expand(
                kept(REQUESTS, benchmark=benchmark, protocol="released"), task=BENCHMARKS[benchmark].released_tasks
            ),
            release=lambda w: DATA.format(source=release_of(w)),
        output:
            responses=expand(
                kept(RESPONSES, benchmark=benchmark, protocol="released"),
                task=BENCHMARKS[benchmark].released_tasks,
                allow_missing=True,
            ),
        log:
            log_of(f"import_{benchmark}", "model"),
        wildcard_constraints:
            model=any_of(models_of("released")),
        group:
            "results"
        conda:
            "../envs/data.yaml"
        params:
            code=code_hash("import_responses", f"benchmarks.{benchmark}.released"),
            benchmark=benchmark,
            tasks=BENCHMARKS[benchmark].released_tasks,
            release=lambda w: CONFIG.models[w.model].release,
            files=lambda w: source_files(release_of(w)),
        script:
            "../scripts/import_responses.py"

    describe(
        f"import_{benchmark}",
        f"Import model outputs published by the authors of {BENCHMARKS[benchmark].title} as responses.",
    )
