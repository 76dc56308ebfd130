"""Let one local model answer every task of a benchmark, or one shard of each (rules answer_...)."""

import os

from biasatlas.files import read_parquet, write_responses
from biasatlas.workflow.lease import lease_gpus
from biasatlas.models.sampling import fill_sampling, with_checkpoint
from biasatlas.models.store import ResponseStore
from biasatlas.benchmarks.shared.readers import readers_of
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    lease_gpus(snakemake.resources.gpu)
    os.environ["HF_HUB_OFFLINE"] = "1"  # rule fetch_model did what takes a network
    from biasatlas.models import hf  # imports torch, which must not see devices of other jobs
    from biasatlas.models.hub import at_commit

    settings = at_commit(snakemake.params.model, str(snakemake.input.weights))
    templates = settings.pop("templates", {})
    named = settings.pop("sampling", {})
    model = hf.load(**settings, device_map="auto" if snakemake.resources.gpu > 1 else None)
    # How many tokens go through at a time changes no answer, so it is no param.
    token_budget = snakemake.config["models"][snakemake.wildcards.model].get("token_budget")
    sampling = with_checkpoint(named, model.model.generation_config.to_dict())
    readers = readers_of(snakemake.params.benchmark)
    number, shards = map(int, snakemake.wildcards.get("shard", "1-of-1").split("-of-"))
    files = zip(snakemake.input.requests, snakemake.output.responses, snakemake.params.stores, strict=True)
    for task, (requests_file, responses_file, store) in enumerate(files):
        requests = fill_sampling(read_parquet(requests_file), sampling, snakemake.wildcards.model)
        responses, metadata = hf.answer(
            requests,
            model,
            templates=templates,
            readers=readers,
            store=ResponseStore(store),
            token_budget=token_budget,
            # Tasks of one batch each go to different shards.
            share=((number + task) % shards, shards),
        )
        write_responses(responses, responses_file, requests["kind"].iloc[0], metadata)
