"""Build the requests of one task of a benchmark under a protocol (rule build_requests)."""

from importlib import import_module

from biasatlas.files import read_parquet, write_requests
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.wildcards.benchmark}.requests")
    orders = snakemake.input.get("orders")
    requests = benchmark.build_requests(
        read_parquet(snakemake.input.items_file),
        snakemake.wildcards.task,
        snakemake.params.categories,
        snakemake.params.protocol,
        **({"orders": read_parquet(orders)} if orders else {}),
    )
    write_requests(requests, snakemake.output.requests)
