"""Stop where a run may cost more than its configuration accepts (rule check_cost)."""

from biasatlas.files import read_csv
from biasatlas.workflow import check
from biasatlas.workflow.job import job

with job(snakemake) as this:
    check.accept(read_csv(snakemake.input.table), this.step["max_cost"])
