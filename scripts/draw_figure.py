"""Draw a figure from tables (rule draw_figure)."""

from importlib import import_module
from pathlib import Path

from biasatlas.files import read_csv
from biasatlas.benchmarks.shared.style import save, style
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]), style():
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.wildcards.benchmark}.figures")
    tables = {Path(path).stem: read_csv(path) for path in snakemake.input.tables}
    save(benchmark.FIGURES[snakemake.wildcards.figure](tables), snakemake.output.figure)
