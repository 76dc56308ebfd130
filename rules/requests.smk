# Requests: the questions that every model is asked.
#   REQUIRED INPUTS: items/{benchmark}.parquet; judge/orders/{benchmark}/{task}.parquet where a protocol asks for them
#   OUTPUTS: requests/{benchmark}/{protocol}/{task}.parquet


rule build_requests:
    """Turn a benchmark's items into one task's requests under a protocol."""
    input:
        items_file=PATHS.items,
        orders=find.orders,
        resources=find.files_for(find.resources("requests")),
        template_checksums=find.template_checksums("requests"),
    output:
        requests=PATHS.requests,
    log:
        PATHS.log("build_requests", "benchmark", "protocol", "task"),
    benchmark:
        PATHS.run_time("build_requests", "benchmark", "protocol", "task")
    group:
        find.request_group
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("requests", "build_requests", categories=find.categories, framings=find.framings),
    script:
        "../scripts/build_requests.py"
