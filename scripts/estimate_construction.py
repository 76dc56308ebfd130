"""Say what every step of a construction will cost at most (rules estimate_construction, estimate_variations)."""

from biasatlas.benchmarks.dbb.construct import steps
from biasatlas.benchmarks.dbb.construct.dataset import read_prompts
from biasatlas.files import read_csv, write_csv
from biasatlas.resources import Resources
from biasatlas.workflow.job import job

with job(snakemake) as this:
    given, params = snakemake.input, snakemake.params
    resources = Resources.given([*params.prompts, *params.wording], [*given.prompts, *given.wording])
    prompts = read_prompts(resources, this.config.construction.wording)
    rows = read_csv(snakemake.input.rows).fillna("")
    costs = steps.worst_costs(rows, prompts, *snakemake.params.prices, steps=tuple(snakemake.params.steps))
    write_csv(costs, snakemake.output.costs)
