"""Put what every benchmark could find into one table (rule plan)."""

import pandas as pd

from biasatlas.files import read_csv, write_csv, write_text
from biasatlas.simulation.planning import COLUMNS, as_text
from biasatlas.workflow.job import job

with job(snakemake):
    tables = [read_csv(path) for path in snakemake.input.tables] or [pd.DataFrame(columns=list(COLUMNS))]
    table = pd.concat(tables, ignore_index=True)
    write_csv(table, snakemake.output.table)
    write_text(as_text(table), snakemake.output.text)
