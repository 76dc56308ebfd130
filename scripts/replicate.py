"""Count the published values that released outputs reproduce to the printed digit (rule replicate)."""

from pathlib import Path

from biasatlas.files import read_csv, write_csv, write_text
from biasatlas.report.replication import replication, unmatched
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    tables = {
        (Path(path).parent.name, Path(path).stem): read_csv(path, published="str") for path in snakemake.input.tables
    }
    summary = replication(tables)
    text = (
        f"{summary.to_string(index=False)}\n\n{summary['match'].sum()} of {summary['values'].sum()} published values "
        "reproduced to the printed digit.\n"
    )
    others = unmatched(tables)
    if len(others):
        text += f"\nThe others, which the benchmarks' pages in docs/ explain:\n\n{others.to_string(index=False)}\n"
    write_csv(summary, snakemake.output.summary)
    write_text(text, snakemake.output.text)
    print(text)
