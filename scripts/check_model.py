"""Look whether a model can be used at all (rule check_model)."""

from pathlib import Path

from biasatlas.files import write_text
from biasatlas.models.door import Opening
from biasatlas.models.kinds import KINDS
from biasatlas.workflow.job import job

with job(snakemake) as this:
    name = snakemake.wildcards.model
    entry = this.config.models[name]
    found = KINDS[entry.kind].check(Opening(name, entry, tuple(map(Path, snakemake.input.ready))))
    write_text(found or "", snakemake.output.checked)
