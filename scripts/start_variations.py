"""Gather DBB's questions as rows that variations are written for, and what that will cost (rule start_variations)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.dbb.construct import dataset, steps
from biasatlas.files import write_csv
from biasatlas.resources import Resources
from biasatlas.sources import raw_files
from biasatlas.workflow.job import job

with job(snakemake):
    resources = Resources.given(registry.resource_names("dbb", "items"), snakemake.input.resources)
    items = registry.read_items("dbb")(raw_files(snakemake.params.raw, snakemake.input.raw), resources)
    rows = dataset.template_rows(items)
    write_csv(rows, snakemake.output.rows)
    prompts = steps.read_prompts(Resources.given(snakemake.params.prompts, snakemake.input.prompts))
    costs = steps.plan(rows, prompts, *snakemake.params.prices, steps=(snakemake.params.step,))
    write_csv(costs, snakemake.output.costs)
