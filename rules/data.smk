# Raw data and items.
#   REQUIRED INPUTS: the internet, or a mirror folder; resources/samples/ where a benchmark's `data` is `sample`
#   OUTPUTS: {data}/{source}/ and the SHA-256 of its files in {data}/{source}.sha256, items/{benchmark}.parquet


rule fetch_source:
    """Fetch raw data from where they were published, or from a mirror, and check every byte."""
    output:
        folder=directory(PATHS.source),
        checksums=PATHS.checksums,
    log:
        PATHS.log("fetch_source", "source"),
    localrule: True
    conda:
        "../envs/fetch.yaml"
    params:
        step=find.step("", pins=find.pins),
    script:
        "../scripts/fetch_source.py"


rule read_items:
    """Read and validate a benchmark's raw data: one row per instance."""
    input:
        raw=find.files_for(find.data_files),
        checksums=find.data_checksums,
        resources=find.files_for(find.resources("items")),
    output:
        items_file=PATHS.items,
    log:
        PATHS.log("read_items", "benchmark"),
    benchmark:
        PATHS.run_time("read_items", "benchmark")
    conda:
        "../envs/data.yaml"
    params:
        step=find.step("items", "read_items", raw=find.data_files, data=find.data, read_options=find.read_options),
    script:
        "../scripts/read_items.py"
