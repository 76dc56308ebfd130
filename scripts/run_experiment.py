"""Measure simulated models of one setting of a study (rule run_experiment)."""

from biasatlas.files import read_parquet, write_csv
from biasatlas.simulation import direct, experiment, own_group
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import load_studies
from biasatlas.workflow.job import job

with job(snakemake) as this:
    study = load_studies()[snakemake.wildcards.study]
    items = read_parquet(snakemake.input.items_file)
    bench = Harness.of(study.benchmark, study.protocol, this.resources, items, study.tasks, study.categories)
    # Every setting has seeds of its own: what chance does in one says nothing of another.
    setting, seeds = snakemake.wildcards.setting, this.step["seeds"]
    first = 1 + seeds * list(study.settings()).index(setting)
    run = {"tables": experiment.run, "regression": own_group.run, "answers": direct.run}[study.by]
    runs = run(study, setting, bench, range(first, first + seeds))
    write_csv(runs, snakemake.output.runs)
