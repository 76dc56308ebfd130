"""Draw a figure from tables (rule draw_figure)."""

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.palette import looks
from biasatlas.benchmarks.shared.style import save, style
from biasatlas.files import read_csv
from biasatlas.workflow.job import job

with job(snakemake) as this, style():
    figure = snakemake.wildcards.figure
    names = registry.spec_view(this.benchmark, "figure", figure=figure).figures[figure].tables
    tables = {name: read_csv(path) for name, path in zip(names, snakemake.input.tables, strict=True)}
    drawn = registry.figures(this.benchmark)[figure](tables, looks(list(this.config.models)))
    save(drawn, snakemake.output.figure)
