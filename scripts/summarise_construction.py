"""Count what each step of the construction did with its rows (rule summarise_construction)."""

from biasatlas.benchmarks.dbb.construct import STEPS, steps
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake):
    tables = {step: read_csv(path).fillna("") for step, path in zip(STEPS, snakemake.input.steps, strict=True)}
    write_csv(steps.verdicts(tables), snakemake.output.verdicts)
