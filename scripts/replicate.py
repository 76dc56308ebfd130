"""Hold the printed tables and figures against what public outputs give (rule replicate)."""

from biasatlas.files import read_csv, write_csv, write_text
from biasatlas.report.ledger import make_ledger, published_cells, read_papers, summarise
from biasatlas.workflow.job import job

with job(snakemake) as this:
    papers = read_papers(this.resources, {run.benchmark for run in this.config.benchmarks.values()})
    tables = {
        (this.config.benchmark(name), table): read_csv(path, published="str")
        for (name, table), path in this.given("tables").items()
    }
    ledger = make_ledger(papers, published_cells(papers, this.resources), tables, this.step["published_as"])
    write_csv(ledger, snakemake.output.ledger)
    write_text(summarise(papers, ledger), snakemake.output.text)
