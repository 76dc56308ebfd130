"""Put DBB's concepts beside the questions of BBQ that they were made from (rule match_bbq)."""

from biasatlas.workflow import provenance
from biasatlas.benchmarks.dbb.bbq_match import match_bbq
from biasatlas.files import read_scores, write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    write_csv(match_bbq(read_scores(snakemake.input.dbb), read_scores(snakemake.input.bbq)), snakemake.output.table)
    # Each benchmark has items of its own.
    origin = {
        name: provenance.of_table(snakemake.input[f"{name}_provenance"], [], code=snakemake.params.code)
        for name in ("dbb", "bbq")
    }
    provenance.write(origin, snakemake.output.provenance)
