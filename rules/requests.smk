# Requests: the questions that every model is asked.
#   REQUIRED INPUTS: items/{benchmark}.parquet; judge/orders/{benchmark}/{task}.parquet where a protocol asks for them
#   OUTPUTS: requests/{benchmark}/{protocol}/{task}.parquet


rule build_requests:
    """Turn a benchmark's items into one task's requests under a protocol."""
    input:
        items_file=ITEMS,
        prompts=prompts_of,
        orders=orders_of,
    output:
        requests=REQUESTS,
    log:
        log_of("build_requests", "benchmark", "protocol", "task"),
    benchmark:
        bench_of("build_requests", "benchmark", "protocol", "task")
    group:
        lambda w: None if orders_of(w) else "requests"
    conda:
        "../envs/data.yaml"
    params:
        code=lambda w: code_hash("build_requests", f"benchmarks.{w.benchmark}.requests"),
        protocol=lambda w: PROTOCOLS[w.benchmark, w.protocol],
        categories=lambda w: plan.categories(CONFIG, w.benchmark, w.task),
    script:
        "../scripts/build_requests.py"
