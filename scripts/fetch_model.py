"""Fetch a model, and its adapter, from the Hugging Face hub and record their commits (rule fetch_model)."""

import json

from biasatlas.files import write_text
from biasatlas.models.hub import fetch
from biasatlas.workflow.job import job

with job(snakemake) as this:
    fetched = fetch(this.config.models[snakemake.wildcards.model])
    write_text(json.dumps(fetched, indent=1) + "\n", snakemake.output.fetched)
