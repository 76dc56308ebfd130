"""Read and validate a benchmark's raw data (rule read_items)."""

from importlib import import_module
from pathlib import Path

from biasatlas.workflow import provenance
from biasatlas.files import write_parquet
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.wildcards.benchmark}.items")
    files = {name: Path(path) for name, path in snakemake.params.files.items() if not Path(path).is_dir()}
    for folder in map(Path, set(snakemake.params.files.values())):
        if folder.is_dir():  # a source whose files no table lists
            files |= {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    checksums = {name: provenance.sha256(path) for name, path in files.items()}
    write_parquet(benchmark.read_items(files), snakemake.output.items_file, metadata={"files": checksums})
