"""Put several benchmarks' results side by side (rule compare_benchmarks)."""

from biasatlas.benchmarks.comparison import METRICS, compare_refusals, compare_scores, compare_sizes
from biasatlas.files import read_csv, write_table
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake) as this:
    compare = {"scores": compare_scores, "refusals": compare_refusals, "sizes": compare_sizes}[
        snakemake.wildcards.comparison
    ]
    paths = this.given("tables")
    table = compare(
        {name: read_csv(path) for name, path in paths.items()},
        this.resources.published,
        this.step["published_as"],
        this.step["measured"],
    )
    write_table(table, snakemake.output.table, METRICS)
    origin = provenance.software() | {
        "code": this.step["code"],
        "tables": {"/".join(name): provenance.sha256(path) for name, path in paths.items()},
    }
    provenance.write(origin, snakemake.output.provenance)
