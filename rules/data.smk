# Raw data and items.
#   REQUIRED INPUTS: the internet, or a mirror folder; resources/samples/ where a benchmark's `data` is `sample`
#   OUTPUTS: {data}/{source}/ and the SHA-256 of its files in {data}/{source}.sha256, items/{benchmark}.parquet


localrules:
    fetch_source,


def pinned(wildcards):
    """The version of a source, and what each of its files that a table lists is known by."""
    source = SOURCES[wildcards.source]
    return {"version": source.version} | {file.path: file.pin for file in source.files}


def own_data(wildcards):
    """The user's own files that are read together with a benchmark's data: name -> path."""
    return selection.data_files(CONFIG, wildcards.benchmark)


def reading(wildcards):
    """Param of: the keys of a run that the reader of a benchmark's data takes by name."""
    return selection.reading(CONFIG, wildcards.benchmark)


rule fetch_source:
    """Fetch raw data from where they were published, or from a mirror, and check every byte."""
    output:
        folder=directory(PATHS.source),
        checksums=PATHS.checksums,
    log:
        PATHS.log("fetch_source", "source"),
    conda:
        "../envs/fetch.yaml"
    params:
        pinned=pinned,
    script:
        "../scripts/fetch_source.py"


rule read_items:
    """Read and validate a benchmark's raw data: one row per instance."""
    input:
        raw=lambda w: raw_inputs(w.benchmark),
        checksums=lambda w: raw_checksums(w.benchmark),
        own=lambda w: list(own_data(w).values()),
        resources=shipped("items"),
    output:
        items_file=PATHS.items,
    log:
        PATHS.log("read_items", "benchmark"),
    benchmark:
        PATHS.run_time("read_items", "benchmark")
    group:
        "requests"
    conda:
        "../envs/data.yaml"
    params:
        code=code("read_items"),
        shipped=shipped_digest("items"),
        data=lambda w: CONFIG.benchmarks[w.benchmark].data,
        raw=lambda w: raw_names(w.benchmark),
        own=lambda w: list(own_data(w)),
        reading=reading,
    script:
        "../scripts/read_items.py"
