"""Check whether a model can be used at all (rule check_model)."""

from pathlib import Path

from biasatlas.files import write_text
from biasatlas.models.interface import ModelContext
from biasatlas.models.kinds import check_model
from biasatlas.workflow.job import job

with job(snakemake) as this:
    name = snakemake.wildcards.model
    entry = this.config.models[name]
    found = check_model(ModelContext(name, entry, tuple(map(Path, snakemake.input.ready))))
    write_text(found or "", snakemake.output.checked)
