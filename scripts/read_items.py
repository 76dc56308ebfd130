"""Read and validate a benchmark's raw data (rule read_items)."""

import logging

from biasatlas.benchmarks import registry
from biasatlas.files import write_items
from biasatlas.sources import raw_files
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake) as this:
    files = raw_files([*snakemake.params.raw, *snakemake.params.own], [*snakemake.input.raw, *snakemake.input.own])
    resources = this.resources("items")
    items = registry.read_items(this.benchmark)(files, resources)
    check = registry.check_items(this.benchmark)
    if check and snakemake.params.data == "full":
        for remark in check(items, resources):
            logging.warning("%s: %s", this.benchmark, remark)
    checksums = {name: provenance.sha256(path) for name, path in files.items()}
    write_items(items, snakemake.output.items_file, registry.load_spec(this.benchmark).items, {"files": checksums})
