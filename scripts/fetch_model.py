"""Fetch a model from the Hugging Face hub and record its commit (rule fetch_model)."""

import json
from pathlib import Path

from biasatlas.models.hub import model_folder
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    wanted = snakemake.params.model
    folder = model_folder(wanted["source"], wanted["revision"], wanted.get("trust_remote_code", False))
    fetched = {"source": wanted["source"], "revision": wanted["revision"], "commit": folder.name}
    Path(snakemake.output.fetched).write_text(json.dumps(fetched, indent=1) + "\n", encoding="utf-8")
