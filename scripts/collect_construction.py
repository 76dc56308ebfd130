"""Write what the construction made as a dataset, and a sheet to judge it by hand (rule collect_construction)."""

from biasatlas.benchmarks.dbb.construct import DATASET, dataset
from biasatlas.files import read_csv, without_formulas, write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    files = dataset.dataset_files(read_csv(snakemake.input.rows).fillna(""))
    for path, table in zip(snakemake.output.dataset, files.values(), strict=True):
        write_csv(table, path)
    write_csv(without_formulas(dataset.evaluation_sheet(files[DATASET[0]])), snakemake.output.sheet)
