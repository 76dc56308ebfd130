"""Import published model outputs as responses (rules import_...)."""

from importlib import import_module
from pathlib import Path

from biasatlas.workflow import provenance
from biasatlas.files import read_parquet, write_responses
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.params.benchmark}.released")
    files = {name: Path(path) for name, path in snakemake.params.files.items()}
    items = read_parquet(snakemake.input.items_file)
    checksums = {name: provenance.sha256(path) for name, path in files.items()}
    for task, requests_file, responses_file in zip(
        snakemake.params.tasks, snakemake.input.requests, snakemake.output.responses, strict=True
    ):
        requests = read_parquet(requests_file)
        responses = benchmark.import_responses(snakemake.params.release, files, items, requests, task)
        metadata = {"release": snakemake.params.release, "files": checksums}
        write_responses(responses, responses_file, requests["kind"].iloc[0], metadata)
