"""Summarise scores in one table (rule summarise_scores)."""

from importlib import import_module

from biasatlas.workflow import provenance
from biasatlas.files import read_published, read_scores, write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.wildcards.benchmark}.tables")
    own = snakemake.input.get("own")
    table = benchmark.TABLES[snakemake.wildcards.table](
        own or read_scores(snakemake.input.scores),
        snakemake.params.protocol,
        read_published,
        snakemake.params.published_as,
    )
    write_csv(table, snakemake.output.table)
    origin = provenance.of_table(
        snakemake.input.provenance,
        snakemake.input.published,
        table=snakemake.wildcards.table,
        options=snakemake.params.protocol,
        code=snakemake.params.code,
        **({"own_file_sha256": provenance.sha256(own)} if own else {}),
    )
    provenance.write(origin, snakemake.output.provenance)
