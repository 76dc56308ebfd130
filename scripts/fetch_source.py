"""Fetch the files of one source of raw data (rules fetch_...)."""

import os
from pathlib import Path

from biasatlas.fetch import fetch
from biasatlas.script import logged
from biasatlas.sources import load_sources

with logged(snakemake.log[0]):
    # Where the bytes come from changes no result, so it is no param: a new mirror reruns nothing.
    mirror = snakemake.config.get("mirror") or os.environ.get("BIASATLAS_MIRROR")
    source = load_sources()[snakemake.wildcards.source]
    fetch(source, Path(snakemake.output.folder), Path(mirror) if mirror else None)
