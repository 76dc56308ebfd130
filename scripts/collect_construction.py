"""Write what the construction made as a dataset, and a sheet to judge it by hand (rule collect_construction)."""

from pathlib import Path

from biasatlas.benchmarks.dbb.construct import dataset
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    files = dataset.dataset_files(read_csv(snakemake.input.rows).fillna(""))
    for name, table in files.items():
        write_csv(table, Path(snakemake.output.dataset) / name)
    questions = next(table for name, table in files.items() if name.endswith("all_data_questions.csv"))
    write_csv(dataset.evaluation_sheet(questions), snakemake.output.sheet)
