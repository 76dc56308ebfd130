"""Check that an endpoint can be used (rule check_endpoint)."""

from biasatlas.models.endpoint.probe import check
from biasatlas.workflow.job import job

with job(snakemake) as this:
    check(this.config.models[snakemake.wildcards.model])
