# Requests: the questions that every model is asked.
#   REQUIRED INPUTS: items/{benchmark}.parquet; judge/orders/{benchmark}/{task}.parquet where a protocol asks for them
#   OUTPUTS: requests/{benchmark}/{protocol}/{task}.parquet


def orders(wildcards):
    """What a judge says of the order of each item's parts, where a protocol has it asked before requests are built."""
    return PATHS.orders if selection.is_ordered(CONFIG, wildcards.benchmark, wildcards.protocol, wildcards.task) else []


rule build_requests:
    """Turn a benchmark's items into one task's requests under a protocol."""
    input:
        items_file=PATHS.items,
        orders=orders,
        resources=shipped("requests"),
    output:
        requests=PATHS.requests,
    log:
        PATHS.log("build_requests", "benchmark", "protocol", "task"),
    benchmark:
        PATHS.run_time("build_requests", "benchmark", "protocol", "task")
    group:
        lambda w: None if orders(w) else "requests"
    conda:
        "../envs/data.yaml"
    params:
        code=code("build_requests", "benchmarks.{benchmark}.requests", "benchmarks.{benchmark}.columns"),
        shipped=shipped_digest("requests"),
        options=options("answers"),
        categories=categories,
    script:
        "../scripts/build_requests.py"
