"""Gather DBB's questions as rows that variations are written for (rule start_variations)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb.construct import dataset
from biasatlas.files import write_csv
from biasatlas.resources import Resources
from biasatlas.sources import raw_files
from biasatlas.workflow.job import job

with job(snakemake):
    resources = Resources.given(registry.resource_names("dbb", "items"), snakemake.input.resources)
    items = registry.read_items("dbb")(raw_files(snakemake.params.raw, snakemake.input.raw), resources)
    write_csv(dataset.template_rows(items), snakemake.output.rows)
