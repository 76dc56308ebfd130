"""Draw a figure from tables (rule draw_figure)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.style import save, style
from biasatlas.benchmarks.shared.styles import styles
from biasatlas.files import read_csv
from biasatlas.workflow.job import job

with job(snakemake) as this, style():
    figure = snakemake.wildcards.figure
    tables = {name: read_csv(path) for name, path in this.given("tables").items()}
    drawn = registry.figures(this.benchmark)[figure](tables, styles(list(this.config.models)))
    save(drawn, snakemake.output.figure)
