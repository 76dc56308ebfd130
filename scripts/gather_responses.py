"""Join the shards of a model's responses (rule gather_responses)."""

from biasatlas.files import read_parquet, write_responses
from biasatlas.models.shards import join
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    requests = read_parquet(snakemake.input.requests)
    responses, metadata = join(snakemake.input.shards, requests["request_id"])
    write_responses(responses, snakemake.output.responses, requests["kind"].iloc[0], metadata)
