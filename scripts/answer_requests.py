"""Let one local model answer every task of a benchmark (rules answer_...)."""

from biasatlas.files import read_parquet, write_responses
from biasatlas.models import hf
from biasatlas.script import logged

with logged(snakemake.log[0]):
    settings = dict(snakemake.params.model)
    templates = settings.pop("templates", {})
    model = hf.load(**settings)
    for requests_file, responses_file in zip(snakemake.input.requests, snakemake.output.responses, strict=True):
        requests = read_parquet(requests_file)
        responses, metadata = hf.answer(requests, model, templates=templates)
        write_responses(responses, responses_file, requests["kind"].iloc[0], metadata)
