"""Fetch the files of one source of raw data (rule fetch_source)."""

import os
from importlib import import_module
from pathlib import Path

from biasatlas.workflow.fetch import fetch, fetch_dataset
from biasatlas.workflow.job import logged
from biasatlas.sources import load_sources

with logged(snakemake.log[0]):
    # Where the bytes come from changes no result, so it is no param: a new mirror reruns nothing.
    mirror = snakemake.config.get("mirror") or os.environ.get("BIASATLAS_MIRROR")
    mirror = Path(mirror) if mirror else None
    source, folder = load_sources()[snakemake.wildcards.source], Path(snakemake.output.folder)
    if source.files:
        fetch(source, folder, mirror)
    else:
        fetch_dataset(source, folder, mirror)
        files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.suffix == ".xlsx"}
        lock = folder.with_name(f"{source.source}.lock.json")
        import_module(f"biasatlas.benchmarks.{source.source}.lock").check(files, source.version, lock)
