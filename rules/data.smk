# Raw data and items.
#   REQUIRED INPUTS: the internet, or a mirror folder; resources/samples/ where a benchmark's `data` is `sample`
#   OUTPUTS: {data}/{source}/..., items/{benchmark}.parquet

for source in SOURCES:

    rule:
        name:
            f"fetch_{source}"
        output:
            list(source_files(source).values()),
        log:
            log_of(f"fetch_{source}"),
        retries: 1
        localrule: True
        conda:
            "../envs/fetch.yaml"
        params:
            code=code_hash("fetch_source"),
            source=source,
        script:
            "../scripts/fetch_source.py"

    workflow.get_rule(f"fetch_{source}").docstring = f"Fetch raw data: {SOURCES[source].title}."


rule read_items:
    """Read and validate a benchmark's raw data: one row per instance."""
    input:
        lambda w: list(data_files(w.benchmark).values()),
    output:
        items=ITEMS,
    log:
        log_of("read_items", "benchmark"),
    benchmark:
        bench_of("read_items", "benchmark")
    conda:
        "../envs/data.yaml"
    params:
        code=lambda w: code_hash("read_items", f"benchmarks.{w.benchmark}.items"),
        names=lambda w: list(data_files(w.benchmark)),
    script:
        "../scripts/read_items.py"
