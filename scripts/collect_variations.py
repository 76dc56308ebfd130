"""Write the variations of DBB's questions as a file that its items are read with (rule collect_variations)."""

from biasatlas.benchmarks.dbb import dataset
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    rows = read_csv(snakemake.input.rows).fillna("")
    write_csv(dataset.variations_table(rows), snakemake.output.variations)
