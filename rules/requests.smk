# Requests: the questions that every model is asked.
#   REQUIRED INPUTS: items/{benchmark}.parquet; judge/orders/{benchmark}/{task}.parquet where a protocol asks for them
#   OUTPUTS: requests/{benchmark}/{protocol}/{task}.parquet


def orders(wildcards):
    """What a judge says of the order of each item's parts, where a protocol has it asked before requests are built."""
    return PATHS.orders if selection.is_ordered(CONFIG, wildcards.benchmark, wildcards.protocol, wildcards.task) else []


def worded(step, benchmark, protocol):
    """The wording of others that a step reads under a protocol, name -> path: folders of sources, files of the user's."""
    sources, own = selection.wording(CONFIG, benchmark, protocol, step)
    files = {name: ancient(PATHS.source.format(source=name)) for name in sources}
    files |= {name: local(CONFIG.benchmarks[benchmark].files[name]) for name in own}
    return {f"wording/{name}": path for name, path in files.items()}


def protocol_of(wildcards):
    """The wildcard's protocol; of a judge's orders, which all protocols share, the first that asks for them."""
    asking = (p for b, p in RUNS if b == wildcards.benchmark and selection.is_ordered(CONFIG, b, p, wildcards.task))
    return wildcards.get("protocol") or next(asking)


def wording(step):
    """Input of: the files of that wording."""

    def files(wildcards):
        return list(worded(step, wildcards.benchmark, protocol_of(wildcards)).values())

    return files


def wording_checksums(step):
    """Input of: checksums of what was fetched of it; a folder counts by these alone."""

    def files(wildcards):
        sources, _ = selection.wording(CONFIG, wildcards.benchmark, protocol_of(wildcards), step)
        return expand(PATHS.checksums, source=sources)

    return files


def wording_names(step):
    """Param of: its names among the resources of the step."""

    def listed(wildcards):
        return list(worded(step, wildcards.benchmark, protocol_of(wildcards)))

    return listed


rule build_requests:
    """Turn a benchmark's items into one task's requests under a protocol."""
    input:
        items_file=PATHS.items,
        orders=orders,
        resources=shipped("requests"),
        wording=wording("requests"),
        wording_checksums=wording_checksums("requests"),
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
        code=code("build_requests"),
        shipped=shipped_digest("requests"),
        wording=wording_names("requests"),
        options=options("answers"),
        categories=categories,
    script:
        "../scripts/build_requests.py"
