"""What a benchmark could find on the configured data (rule plan_effects)."""

from biasatlas.benchmarks.comparisons.cards import read_cards
from biasatlas.files import read_parquet, write_csv
from biasatlas.simulation.harness import Harness
from biasatlas.simulation.planning import bases, plan
from biasatlas.simulation.studies import load_studies
from biasatlas.workflow.job import job

with job(snakemake) as this:
    given, categories = snakemake.input, this.step["categories"]
    requests = {task: read_parquet(path) for task, path in this.given("requests").items()}
    bench = Harness(this.benchmark, this.options, this.resources, read_parquet(given.items_file), requests, categories)
    cards = read_cards(this.given("cards"))
    entries = bases(list(categories), load_studies(), this.benchmark)
    write_csv(plan(this.name, bench, this.protocol, entries, cards, this.step["families"]), snakemake.output.table)
