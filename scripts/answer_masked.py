"""Let a masked language model answer the tasks that are made for its kind (rules answer_masked_...)."""

import os

from biasatlas.files import read_parquet, write_responses
from biasatlas.workflow.lease import lease_gpus
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    lease_gpus(snakemake.resources.gpu)
    os.environ["HF_HUB_OFFLINE"] = "1"  # rule fetch_model did what takes a network
    from biasatlas.models import masked  # imports torch, which must not see devices of other jobs
    from biasatlas.models.hub import at_commit

    settings = at_commit(snakemake.params.model, str(snakemake.input.weights))
    model = masked.load(settings["source"], revision=settings["revision"])
    for requests_file, responses_file in zip(snakemake.input.requests, snakemake.output.responses, strict=True):
        requests = read_parquet(requests_file)
        responses, metadata = masked.answer(requests, model)
        write_responses(responses, responses_file, requests["kind"].iloc[0], metadata)
