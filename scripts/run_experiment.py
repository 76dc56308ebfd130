"""Measure simulated models of one setting of a study (rule run_experiment)."""

from biasatlas.files import read_parquet, write_csv
from biasatlas.simulation import claims, direct, experiment, ngrams, own_group
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.studies import load_studies
from biasatlas.workflow.job import job

with job(snakemake) as this:
    study, setting = load_studies()[snakemake.wildcards.study], snakemake.wildcards.setting
    items = read_parquet(snakemake.input.items_file)
    bench = Harness.of_study(study, this.resources, items)
    ways = {"tables": experiment.run, "evidence": claims.run, "regression": own_group.run, "answers": direct.run}
    ways |= {"ngrams": ngrams.run}
    seeds = study.seeds(setting, this.step["seeds"])
    write_csv(ways[study.by](study, setting, bench.under(study.nuisance(setting)), seeds), snakemake.output.runs)
