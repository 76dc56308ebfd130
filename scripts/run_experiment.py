"""Measure simulated models of one setting of a study (rule run_experiment)."""

from biasatlas.files import read_parquet, write_csv
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.measure import measure
from biasatlas.simulation.studies import load_studies
from biasatlas.workflow.job import job

with job(snakemake) as this:
    study = load_studies()[snakemake.wildcards.study]
    bench = Harness.of_study(study, this.resources, read_parquet(snakemake.input.items_file))
    write_csv(measure(study, snakemake.wildcards.setting, bench, this.step["seeds"]), snakemake.output.runs)
