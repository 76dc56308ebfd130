"""Say what every step of a construction will cost at most (rules estimate_construction, estimate_variations)."""

from biasatlas.benchmarks.dbb import construct
from biasatlas.benchmarks.dbb.dataset import read_prompts
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake) as this:
    prompts = read_prompts(this.resources, this.step["templates"])
    rows = read_csv(snakemake.input.rows).fillna("")
    costs = construct.worst_costs(rows, prompts, *this.step["prices"], steps=this.step["steps"])
    write_csv(costs, snakemake.output.costs)
