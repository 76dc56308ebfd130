"""Put one paper, or one of its tables or figures, beside what public outputs give (rule replicate_part)."""

from biasatlas.files import read_csv, write_text
from biasatlas.report.replication import one_paper, part_name, published_cells, read_papers, replication_report
from biasatlas.workflow.job import job

with job(snakemake) as this:
    papers = read_papers(this.resources, {this.benchmark})
    given = this.given("tables")
    tables = {(this.benchmark, table): read_csv(path, published="str") for (_, table), path in given.items()}
    report = replication_report(papers, published_cells(papers, this.resources), tables, this.step["published_as"])
    paths = [*map(str, given.values()), *snakemake.input.figures]
    write_text(one_paper(report, papers, part_name(snakemake.wildcards.part), paths), snakemake.output.text)
