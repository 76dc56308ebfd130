"""Gather the items that new questions are made from (rule start_construction)."""

import pandas as pd

from biasatlas.benchmarks.dbb.construct import dataset, steps
from biasatlas.files import write_csv
from biasatlas.sources import raw_files
from biasatlas.workflow.job import job

with job(snakemake):
    parts = []
    for source in dict.fromkeys(source for source, _ in snakemake.params.raw):
        own = [
            (name, path)
            for (of, name), path in zip(snakemake.params.raw, snakemake.input.raw, strict=True)
            if of == source
        ]
        rows = dataset.read_rows(source, raw_files(*zip(*own, strict=True)))
        parts.append(dataset.sample(rows, snakemake.params.items_per_source, snakemake.params.seed))
    rows = steps.start(pd.concat(parts, ignore_index=True))
    write_csv(rows, snakemake.output.rows)
