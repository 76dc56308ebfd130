"""Count the published values that released outputs reproduce to the printed digit (rule replicate)."""

from biasatlas.benchmarks.registry import load_spec
from biasatlas.files import read_csv, write_csv, write_text
from biasatlas.report.replication import count_matches, is_recomputed, match_published, summarise
from biasatlas.workflow import selection
from biasatlas.workflow.job import job

with job(snakemake) as this:
    names = selection.replicable_tables(this.config)
    tables = {name: read_csv(path, published="str") for name, path in zip(names, snakemake.input.tables, strict=True)}
    recomputed = {(benchmark, table) for benchmark, table in names if is_recomputed(load_spec(benchmark).tables[table])}
    numbers = match_published(tables, recomputed)
    write_csv(count_matches(numbers), snakemake.output.summary)
    write_text(summarise(numbers), snakemake.output.text)
