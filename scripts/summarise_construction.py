"""Count what each step of the construction did with its rows (rule summarise_construction)."""

from pathlib import Path

from biasatlas.benchmarks.dbb.construct import steps
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    tables = {Path(path).stem: read_csv(path).fillna("") for path in snakemake.input.steps}
    write_csv(steps.verdicts(tables), snakemake.output.verdicts)
