"""Gather the items that new questions are made from (rule start_construction)."""

import pandas as pd

from biasatlas.benchmarks.dbb import construct, dataset
from biasatlas.files import write_csv
from biasatlas.sources import raw_files
from biasatlas.workflow.job import job

with job(snakemake) as this:
    parts = []
    for source, raw in this.given("raw").items():
        rows = dataset.read_rows(source, raw_files(raw.keys(), raw.values()))
        parts.append(dataset.sample(rows, this.step["items_per_source"], this.step["seed"]))
    rows = construct.start(pd.concat(parts, ignore_index=True))
    write_csv(rows, snakemake.output.rows)
