"""Put DBB's concepts beside the questions of BBQ that they were made from (rule compare_dbb_bbq)."""

from biasatlas.benchmarks.comparison import METRICS, compare_dbb_bbq, match_distribution, match_examples
from biasatlas.files import read_parquet, read_task_scores, write_table
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake) as this:
    dbb, bbq = read_task_scores(snakemake.input.dbb), read_task_scores(snakemake.input.bbq)
    items = (read_parquet(snakemake.input[name]) for name in ("dbb_items", "bbq_items"))
    table = compare_dbb_bbq(dbb, bbq)
    write_table(table, snakemake.output.table, METRICS)
    write_table(match_distribution(dbb, bbq, table), snakemake.output.distribution, METRICS)
    write_table(match_examples(dbb, bbq, table, *items), snakemake.output.examples, METRICS)
    # Each benchmark has items of its own.
    origin = {name: provenance.of_table(snakemake.input[name], [], code=this.step["code"]) for name in ("dbb", "bbq")}
    provenance.write(origin, snakemake.output.provenance)
