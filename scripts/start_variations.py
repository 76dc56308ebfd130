"""Gather DBB's questions as rows that variations are written for (rule start_variations)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb import dataset
from biasatlas.files import write_csv
from biasatlas.sources import raw_files
from biasatlas.workflow.job import job

with job(snakemake) as this:
    raw = this.given("raw")
    items = registry.read_items("dbb")(raw_files(raw.keys(), raw.values()), this.resources)
    write_csv(dataset.template_rows(items), snakemake.output.rows)
