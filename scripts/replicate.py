"""Check printed tables and figures, and papers' claims, against what public outputs give (rule replicate)."""

from biasatlas.files import read_csv, write_csv, write_text
from biasatlas.report.claims import claims_report, read_claims, summarise_claims
from biasatlas.report.replication import published_cells, read_papers, replication_report, summarise
from biasatlas.workflow.job import job

with job(snakemake) as this:
    papers = read_papers(this.resources, {run.benchmark for run in this.config.benchmarks.values()})
    tables = {
        (this.config.benchmark(name), table): read_csv(path, published="str")
        for (name, table), path in this.given("tables").items()
    }
    report = replication_report(papers, published_cells(papers, this.resources), tables, this.step["published_as"])
    write_csv(report, snakemake.output.replication)
    write_text(summarise(papers, report), snakemake.output.text)
    claims = claims_report(read_claims(this.resources), papers, this.resources, tables, {}, this.step["published_as"])
    write_csv(claims, snakemake.output.claims)
    write_text(summarise_claims(claims), snakemake.output.claims_text)
