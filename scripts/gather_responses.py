"""Join the shards of a model's responses (rule gather_responses)."""

from biasatlas.files import read_parquet, write_responses
from biasatlas.models.batches import join
from biasatlas.workflow.job import job

with job(snakemake) as this:
    parts = {}
    for task, path in this.given("requests").items():
        requests = read_parquet(path)
        responses, metadata = join(snakemake.input.shards, snakemake.input.runs, task, requests["request_id"])
        parts[task] = responses, requests["kind"].iloc[0], metadata
    write_responses(parts, snakemake.output.responses, snakemake.output.run)
