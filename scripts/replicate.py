"""Count the published values that released outputs reproduce to the printed digit (rule replicate)."""

from biasatlas.files import read_csv, write_csv, write_text
from biasatlas.report.replication import count_matches, is_recomputed, match_published, summarise
from biasatlas.workflow import selection
from biasatlas.workflow.job import job

with job(snakemake) as this:
    names = selection.replicable_tables(this.config)
    tables = {name: read_csv(path, published="str") for name, path in zip(names, snakemake.input.tables, strict=True)}
    recomputed = {(name, table) for name, table in names if is_recomputed(this.config.spec(name).tables[table])}
    numbers = match_published(tables, recomputed)
    write_csv(count_matches(numbers), snakemake.output.summary)
    write_text(summarise(numbers), snakemake.output.text)
