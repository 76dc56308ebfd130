"""Draw DBB's concepts beside BBQ's questions (rule draw_match)."""

from biasatlas.benchmarks.dbb.figures import draw_match
from biasatlas.benchmarks.shared.palette import looks
from biasatlas.benchmarks.shared.style import save, style
from biasatlas.files import read_csv
from biasatlas.workflow.job import job

with job(snakemake) as this, style():
    save(draw_match(read_csv(snakemake.input.table), looks(list(this.config.models))), snakemake.output.figure)
