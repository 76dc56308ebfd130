"""Sum up the sheet in which the constructed questions were judged by hand (rule summarise_evaluation)."""

from biasatlas.benchmarks.dbb.construct import dataset
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    write_csv(dataset.summarise_evaluation(read_csv(snakemake.input.sheet)), snakemake.output.table)
