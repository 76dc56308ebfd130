"""Build the requests of one task of a benchmark under a protocol (rule build_requests)."""

from biasatlas.benchmarks import registry
from biasatlas.files import read_parquet, read_responses, write_requests
from biasatlas.workflow.job import job

with job(snakemake) as this:
    task = snakemake.wildcards.task
    requests = registry.build_requests(this.benchmark)(
        read_parquet(snakemake.input.items_file),
        task,
        this.step["categories"],
        this.options,
        this.resources,
        read_responses(snakemake.input.orders, task) if snakemake.input.orders else None,
    )
    spec = registry.spec_view(this.benchmark, "build_requests", task=task)
    write_requests(requests, snakemake.output.requests, spec.tasks[task].requests)
