"""Put DBB's concepts beside the questions of BBQ that they were made from (rule match_bbq)."""

from biasatlas.benchmarks.comparison import METRICS
from biasatlas.benchmarks.dbb.bbq_match import match_bbq
from biasatlas.files import read_scores, write_table
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake):
    table = match_bbq(read_scores(snakemake.input.dbb), read_scores(snakemake.input.bbq))
    write_table(table, snakemake.output.table, METRICS)
    # Each benchmark has items of its own.
    origin = {
        name: provenance.of_table(snakemake.input[f"{name}_provenance"], [], code=snakemake.params.code)
        for name in ("dbb", "bbq")
    }
    provenance.write(origin, snakemake.output.provenance)
