# Raw data and items.
#   REQUIRED INPUTS: the internet, or a mirror folder; resources/samples/ where a benchmark's `data` is `sample`
#   OUTPUTS: {data}/{source}/, items/{benchmark}.parquet


localrules:
    fetch_source,


rule fetch_source:
    """Fetch raw data from where they were published, or from a mirror, and check every byte."""
    output:
        folder=directory(DATA),
    log:
        log_of("fetch_source", "source"),
    conda:
        "../envs/fetch.yaml"
    params:
        code=code_hash("fetch_source"),
        files=lambda w: {file.path: file.sha256 for file in SOURCES[w.source].files},
    script:
        "../scripts/fetch_source.py"


rule read_items:
    """Read and validate a benchmark's raw data: one row per instance."""
    input:
        raw=lambda w: raw_inputs(w.benchmark),
        own=lambda w: list(plan.data_files(CONFIG, w.benchmark).values()),
    output:
        items_file=ITEMS,
    log:
        log_of("read_items", "benchmark"),
    benchmark:
        bench_of("read_items", "benchmark")
    group:
        "requests"
    conda:
        "../envs/data.yaml"
    params:
        code=lambda w: code_hash("read_items", f"benchmarks.{w.benchmark}.items"),
        files=lambda w: raw_files(w.benchmark) | plan.data_files(CONFIG, w.benchmark),
    script:
        "../scripts/read_items.py"
