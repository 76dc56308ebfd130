"""Write what the construction made: a dataset, a sheet to judge by hand, and counts (rule collect_construction)."""

from biasatlas.benchmarks.dbb.construct import DATASET, STEPS, dataset, steps
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    tables = {step: read_csv(path).fillna("") for step, path in zip(STEPS, snakemake.input.steps, strict=True)}
    write_csv(steps.verdicts(tables), snakemake.output.verdicts)
    files = dataset.dataset_files(tables[STEPS[-1]])
    for path, table in zip(snakemake.output.dataset, files.values(), strict=True):
        write_csv(table, path)
    write_csv(dataset.evaluation_sheet(files[DATASET[0]]), snakemake.output.sheet)
