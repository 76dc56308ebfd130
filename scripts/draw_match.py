"""Draw DBB's concepts beside BBQ's questions (rule draw_match)."""

from biasatlas.benchmarks.dbb.figures import bbq_match
from biasatlas.files import read_csv
from biasatlas.benchmarks.shared.style import save, style
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]), style():
    save(bbq_match(read_csv(snakemake.input.table)), snakemake.output.figure)
