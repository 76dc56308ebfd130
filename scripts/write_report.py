"""Write the report page (rule write_report)."""

from biasatlas.files import read_metadata, write_text
from biasatlas.report.page import page
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    paid = {model: [read_metadata(path) for path in paths] for model, paths in snakemake.params.paid.items()}
    comparisons = list(snakemake.input.comparisons)
    write_text(page(snakemake.params.runs, snakemake.params.models, comparisons, paid), snakemake.output.page)
