"""Fetch the files of one source of raw data (rule fetch_source)."""

import os
from pathlib import Path

from biasatlas.files import write_text
from biasatlas.sources import load_sources
from biasatlas.workflow.fetch import checksums, fetch, fetch_dataset
from biasatlas.workflow.job import job

with job(snakemake) as this:
    # Where the bytes come from changes no result, so it is no param: a new mirror reruns nothing.
    mirror = this.config.mirror or os.environ.get("BIASATLAS_MIRROR")
    source = load_sources()[snakemake.wildcards.source]
    take = fetch if source.files else fetch_dataset
    folder = Path(snakemake.output.folder)
    take(source, folder, Path(mirror) if mirror else None)
    # As sha256sum writes them, to be checked from within the folder: sha256sum --check ../{source}.sha256
    lines = [f"{sha256}  {path}\n" for path, sha256 in checksums(folder).items()]
    write_text("".join(lines), snakemake.output.checksums)
