"""Draw DBB's concepts beside BBQ's questions, or their instances by score (rule draw_match)."""

from biasatlas.benchmarks.dbb.figures import draw_distribution, draw_match
from biasatlas.benchmarks.shared.style import save, style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv
from biasatlas.workflow.job import job

with job(snakemake) as this, style():
    draw = {"dbb_bbq": draw_match, "bbq_distribution": draw_distribution}[snakemake.wildcards.comparison]
    save(draw(read_csv(snakemake.input.table), styles(list(this.config.models))), snakemake.output.figure)
