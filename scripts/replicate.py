"""Count the published values that released outputs reproduce to the printed digit (rule replicate)."""

from biasatlas.report.replication import replication

from biasatlas.files import write_csv
from biasatlas.script import logged

with logged(snakemake.log[0]):
    summary = replication(snakemake.input.tables, snakemake.params.models)
    write_csv(summary, snakemake.output.summary)
    print(summary.to_string(index=False))
