# Responses: the only step that needs a GPU or an API. A job opens its model once and answers every task of a benchmark.
#   REQUIRED INPUTS: requests/{benchmark}/{protocol}/{task}.parquet, a model that is ready
#   OUTPUTS: responses/{model}/{benchmark}/{protocol}.parquet; store/{model}/ keeps answers, batch by batch
#   A model with shards answers in several jobs, whose files in {protocol}/{shard}.parquet are joined.


from biasatlas.workflow.again import failing_runs


def unanswered(of, part):
    """Param of: how many runs left calls to an endpoint unanswered; after one more the job is to run again."""
    return lambda w: failing_runs(PATHS.unanswered.format(model=of(w), part=part.format(**w)))


def tasks(wildcards):
    """Tasks that a model answers."""
    return selection.tasks(CONFIG, wildcards.benchmark, wildcards.model)


def requests(wildcards):
    """Requests of the tasks that a model answers."""
    return expand(PATHS.requests, **wildcards, task=tasks(wildcards))


def known_items(wildcards):
    """The items, for models that answer by them rather than by what a request says."""
    return PATHS.items if wildcards.model in models_of("released", "known") else []


def shards(path):
    """Input of: ``path`` of each shard of a model's responses: 1-of-3, 2-of-3, 3-of-3."""

    def files(wildcards):
        count = CONFIG.models[wildcards.model].shards
        return expand(path, **wildcards, shard=[f"{number + 1}-of-{count}" for number in range(count)])

    return files


SHARDED = [name for name, entry in CONFIG.models.items() if getattr(entry, "shards", 1) > 1]


rule answer_requests:
    """Let a model of any kind answer the requests of a benchmark that it can, or a shard of them."""
    input:
        ready=ready(model),
        requests=requests,
        items_file=known_items,
    output:
        responses=PATHS.responses,
        run=PATHS.run,
    log:
        PATHS.log("answer_requests", "model", "benchmark", "protocol"),
    benchmark:
        PATHS.run_time("answer_requests", "model", "benchmark", "protocol")
    wildcard_constraints:
        model=any_of(name for name in CONFIG.models if name not in SHARDED),
    priority: 20
    group:
        lambda w: "results" if w.model in models_of("released") else None
    conda:
        environment(model)
    threads: work(model, "threads")
    resources:
        gpu=work(model, "gpu"),
        api=work(model, "api"),
        mem_mb=work(model, "mem_mb"),
        runtime=work(model, "runtime"),
    params:
        model=identity(model),
        tasks=tasks,
        failing_runs=unanswered(model, "{benchmark}-{protocol}"),
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
        model=any_of(SHARDED),


rule gather_responses:
    """Join the shards of a model's responses."""
    input:
        requests=requests,
        shards=shards(PATHS.shard),
        runs=shards(PATHS.shard_run),
    output:
        responses=PATHS.responses,
        run=PATHS.run,
    log:
        PATHS.log("gather_responses", "model", "benchmark", "protocol"),
    wildcard_constraints:
        model=any_of(SHARDED),
    # With the scores, except where a judge's own job comes between.
    group:
        lambda w: None if any(CONFIG.spec(w.benchmark).tasks[task].judged for task in tasks(w)) else "results"
    conda:
        "../envs/data.yaml"
    params:
        tasks=tasks,
    script:
        "../scripts/gather_responses.py"
