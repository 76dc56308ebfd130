"""Write what the construction made: a dataset, a sheet to judge by hand, and counts (rule collect_construction)."""

from biasatlas.benchmarks.dbb import CONSTRUCTED_FILES, CONSTRUCTION_STEPS, construct, dataset
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    tables = {
        step: read_csv(path).fillna("") for step, path in zip(CONSTRUCTION_STEPS, snakemake.input.steps, strict=True)
    }
    write_csv(construct.verdicts(tables), snakemake.output.verdicts)
    files = dataset.dataset_files(tables[CONSTRUCTION_STEPS[-1]])
    for path, table in zip(snakemake.output.dataset, files.values(), strict=True):
        write_csv(table, path)
    write_csv(dataset.evaluation_sheet(files[CONSTRUCTED_FILES[0]]), snakemake.output.sheet)
