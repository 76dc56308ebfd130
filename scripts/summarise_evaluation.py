"""Sum up the sheet in which the constructed questions were judged by hand (rule summarise_evaluation)."""

from biasatlas.benchmarks.dbb.construct import dataset
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    write_csv(dataset.summarise_evaluation(read_csv(snakemake.input.sheet)), snakemake.output.table)
