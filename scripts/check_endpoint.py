"""Check that an endpoint can be used (rule check_endpoint)."""

from biasatlas.config import ApiModel
from biasatlas.models.endpoint import check
from biasatlas.script import logged

with logged(snakemake.log[0]):
    check(ApiModel.model_validate(snakemake.config["models"][snakemake.wildcards.model]))
