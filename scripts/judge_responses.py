"""Let a judge model judge a model's answers (rule judge_responses)."""

import os
from importlib import import_module

import pandas as pd

from biasatlas.files import REQUEST_COLUMNS, RESPONSE_COLUMNS, read_parquet, write_parquet, write_responses
from biasatlas.workflow.lease import lease_gpus
from biasatlas.models.answerer import answerer
from biasatlas.models.store import ResponseStore
from biasatlas.benchmarks.shared.readers import readers_of
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    lease_gpus(snakemake.resources.gpu)
    os.environ["HF_HUB_OFFLINE"] = "1"  # rule fetch_model did what takes a network
    answer = answerer(
        snakemake.params.judge,
        snakemake.config["models"][snakemake.params.judge],
        snakemake.params.model,
        str(snakemake.input.ready),
        ResponseStore(snakemake.params.store),
        readers_of(snakemake.wildcards.benchmark),
    )
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.wildcards.benchmark}.judge")
    answers = [read_parquet(snakemake.input[name]) for name in ("items_file", "requests", "responses")]
    task, protocol = snakemake.wildcards.task, snakemake.params.protocol
    requests = benchmark.build_judge_requests(*answers, task, protocol)
    while len(requests):
        judgements, metadata = answer(requests)
        # Replies that cannot be read are asked for again, until they can be or the protocol's attempts are used up.
        again = benchmark.build_judge_requests(*answers, task, protocol, judgements)
        if again.equals(requests):
            break
        requests = again
    else:  # every answer was refused: there is nothing to judge
        judgements, metadata = pd.DataFrame(columns=list(RESPONSE_COLUMNS["generation"])), {}
    kind = requests["kind"].iloc[0] if len(requests) else "generation"
    write_parquet(requests, snakemake.output.requests, REQUEST_COLUMNS)
    write_responses(judgements, snakemake.output.judgements, kind, metadata)
