"""Fetch a model from the Hugging Face hub and record its commit (rule fetch_model)."""

import json

from biasatlas.files import write_text
from biasatlas.models.hub import model_folder
from biasatlas.workflow.job import job

with job(snakemake) as this:
    entry = this.config.models[snakemake.wildcards.model]
    folder = model_folder(entry.source, entry.revision, getattr(entry, "trust_remote_code", False))
    fetched = {"source": entry.source, "revision": entry.revision, "commit": folder.name}
    if adapter := getattr(entry, "adapter", None):
        fetched["adapter_commit"] = model_folder(adapter, entry.adapter_revision).name
    write_text(json.dumps(fetched, indent=1) + "\n", snakemake.output.fetched)
