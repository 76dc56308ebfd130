"""Put several benchmarks' results side by side (rule compare_benchmarks)."""

from biasatlas.workflow import provenance
from biasatlas.benchmarks.comparison import compare_refusals, compare_scores
from biasatlas.files import read_csv, read_published, write_csv
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    compare = {"scores": compare_scores, "refusals": compare_refusals}[snakemake.wildcards.comparison]
    names = list(map(tuple, snakemake.params.tables))
    tables = {name: read_csv(path) for name, path in zip(names, snakemake.input.tables, strict=True)}
    write_csv(compare(tables, read_published, snakemake.params.published_as), snakemake.output.table)
    origin = provenance.software() | {
        "code": snakemake.params.code,
        "tables": {
            "/".join(name): provenance.sha256(path) for name, path in zip(names, snakemake.input.tables, strict=True)
        },
    }
    provenance.write(origin, snakemake.output.provenance)
