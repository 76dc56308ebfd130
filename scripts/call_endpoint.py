"""Let an endpoint answer every task of a benchmark that it can (rules call_...)."""

from biasatlas.workflow.config import ApiModel
from biasatlas.files import read_parquet, write_responses
from biasatlas.models.endpoint import api
from biasatlas.models.sampling import fill_sampling
from biasatlas.models.store import ResponseStore
from biasatlas.benchmarks.shared.readers import readers_of
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    # Limits, prices and the budget change no answer, so they are no params: a new limit reruns nothing.
    entry = ApiModel.model_validate(snakemake.config["models"][snakemake.wildcards.model])
    readers = readers_of(snakemake.params.benchmark)
    sampling = snakemake.params.model["sampling"]
    store = ResponseStore(snakemake.params.store)
    for requests_file, responses_file in zip(snakemake.input.requests, snakemake.output.responses, strict=True):
        requests = fill_sampling(read_parquet(requests_file), sampling, snakemake.wildcards.model)
        responses, metadata = api.answer(requests, entry, store=store, readers=readers)
        write_responses(responses, responses_file, requests["kind"].iloc[0], metadata)
