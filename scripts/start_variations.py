"""Gather DBB's questions as rows that variations are written for, and what that will cost (rule start_variations)."""

from biasatlas.benchmarks.dbb.construct import dataset, steps
from biasatlas.benchmarks.dbb.items import read_items
from biasatlas.files import write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    rows = dataset.template_rows(read_items(snakemake.params.files))
    write_csv(rows, snakemake.output.rows)
    costs = steps.plan(rows, steps.read_prompts(), *snakemake.params.prices, steps=(snakemake.params.step,))
    write_csv(costs, snakemake.output.costs)
