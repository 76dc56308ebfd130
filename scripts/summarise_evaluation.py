"""Sum up the sheet in which the constructed questions were judged by hand (rule summarise_evaluation)."""

from biasatlas.benchmarks.dbb import dataset
from biasatlas.files import write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    write_csv(dataset.summarise_evaluation(dataset.read_evaluation(snakemake.input.sheet)), snakemake.output.table)
