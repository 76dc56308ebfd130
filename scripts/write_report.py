"""Write the report page (rule write_report)."""

from biasatlas.files import write_text
from biasatlas.report.page import page
from biasatlas.script import logged

with logged(snakemake.log[0]):
    write_text(page(snakemake.params.runs, snakemake.params.models), snakemake.output.page)
