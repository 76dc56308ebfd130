"""Build the requests of one task of a benchmark under a protocol, or under its framings (rule build_requests)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import framings
from biasatlas.benchmarks.shared.framing_design import framings as ways_of
from biasatlas.files import read_parquet, read_responses, write_requests
from biasatlas.workflow.job import job

with job(snakemake) as this:
    task = snakemake.wildcards.task
    items = read_parquet(snakemake.input.items_file)
    requests = registry.build_requests(this.benchmark)(
        items,
        task,
        this.step["categories"],
        this.options,
        this.resources,
        read_responses(snakemake.input.orders, task) if snakemake.input.orders else None,
    )
    keys = registry.spec_view(this.benchmark, "build_requests", task=task).tasks[task].requests
    if section := this.step["framings"]:
        design = registry.spec_view(this.benchmark, "rounds").design
        requests = framings.framed(requests, items, design, ways_of(section), section["items"])
        keys = keys | framings.COLUMNS
    write_requests(requests, snakemake.output.requests, keys)
