"""Score a model's responses to one task, a file per category (rules score_...)."""

from importlib import import_module

from biasatlas.files import read_parquet, write_csv
from biasatlas.script import logged

with logged(snakemake.log[0]):
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.params.benchmark}.scores")
    items, requests, responses, *judgements = map(read_parquet, snakemake.input)
    for category, path in zip(snakemake.params.categories, snakemake.output.scores, strict=True):
        scores = benchmark.score_responses(
            items, requests, responses, snakemake.params.task, category, snakemake.params.protocol, *judgements
        )
        write_csv(scores, path)
