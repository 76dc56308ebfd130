"""Fetch the files of one source of raw data (rule fetch_source)."""

import os
from pathlib import Path

from biasatlas.sources import load_sources
from biasatlas.workflow.fetch import fetch, fetch_dataset
from biasatlas.workflow.job import job

with job(snakemake) as this:
    # Where the bytes come from changes no result, so it is no param: a new mirror reruns nothing.
    mirror = this.config.mirror or os.environ.get("BIASATLAS_MIRROR")
    source = load_sources()[snakemake.wildcards.source]
    take = fetch if source.files else fetch_dataset
    take(source, Path(snakemake.output.folder), Path(mirror) if mirror else None)
