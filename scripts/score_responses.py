"""Score a model's responses to one task, a file per category (rules score_...)."""

from importlib import import_module

from biasatlas.workflow import provenance
from biasatlas.files import read_parquet, write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.params.benchmark}.scores")
    items, requests, responses, *judgements = map(read_parquet, snakemake.input)
    for category, path in zip(snakemake.params.categories, snakemake.output.scores, strict=True):
        scores = benchmark.score_responses(
            items, requests, responses, snakemake.params.task, category, snakemake.params.protocol, *judgements
        )
        write_csv(scores, path)
    origin = provenance.of_scores(
        items=snakemake.input.items_file,
        requests=snakemake.input.requests,
        responses=snakemake.input.responses,
        judgements=snakemake.input.get("judgements"),
        name=snakemake.wildcards.model,
        model=snakemake.params.model,
        task=snakemake.params.task,
        protocol=snakemake.wildcards.protocol,
        options=snakemake.params.protocol,
        code=snakemake.params.code,
    )
    provenance.write(origin, snakemake.output.provenance)
