"""Say what every step of a construction will cost at most (rules estimate_construction, estimate_variations)."""

from biasatlas.benchmarks.dbb.construct import steps
from biasatlas.files import read_csv, write_csv
from biasatlas.resources import Resources
from biasatlas.workflow.job import job

with job(snakemake):
    prompts = steps.read_prompts(Resources.given(snakemake.params.prompts, snakemake.input.prompts))
    rows = read_csv(snakemake.input.rows).fillna("")
    costs = steps.worst_costs(rows, prompts, *snakemake.params.prices, steps=tuple(snakemake.params.steps))
    write_csv(costs, snakemake.output.costs)
