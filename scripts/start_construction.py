"""Gather the items that new questions are made from (rule start_construction)."""

import pandas as pd

from biasatlas.benchmarks.dbb.construct import sources, steps
from biasatlas.files import write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    parts = [
        sources.read_rows(name, files).head(snakemake.params.items_per_source)
        for name, files in snakemake.params.files.items()
    ]
    rows = steps.start(pd.concat(parts, ignore_index=True))
    write_csv(rows, snakemake.output.rows)
    write_csv(steps.plan(rows, steps.read_prompts(), *snakemake.params.prices), snakemake.output.costs)
