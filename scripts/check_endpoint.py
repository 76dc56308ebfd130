"""Check that an endpoint can be used (rule check_endpoint)."""

from biasatlas.workflow.config import ApiModel
from biasatlas.models.endpoint.probe import check
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    check(ApiModel.model_validate(snakemake.config["models"][snakemake.wildcards.model]))
