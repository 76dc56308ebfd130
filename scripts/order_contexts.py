"""Ask a judge model whether context or sentence comes first, for each item (rule order_contexts)."""

import os
from importlib import import_module

from biasatlas.files import read_parquet, write_responses
from biasatlas.workflow.lease import lease_gpus
from biasatlas.models.answerer import answerer
from biasatlas.models.store import ResponseStore
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    lease_gpus(snakemake.resources.gpu)
    os.environ["HF_HUB_OFFLINE"] = "1"  # rule fetch_model did what takes a network
    judge, store = snakemake.params.judge, ResponseStore(snakemake.params.store)
    entry = snakemake.config["models"][judge]
    answer = answerer(judge, entry, snakemake.params.model, str(snakemake.input.ready), store, {})
    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.wildcards.benchmark}.judge")
    items = read_parquet(snakemake.input.items_file)
    responses, metadata = answer(benchmark.build_order_requests(items, snakemake.params.categories))
    write_responses(responses, snakemake.output.orders, "generation", metadata)
