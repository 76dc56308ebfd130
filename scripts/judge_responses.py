"""Let a judge model judge a model's answers (rule judge_responses)."""

from importlib import import_module

from biasatlas.config import ApiModel
from biasatlas.files import read_parquet, write_requests, write_responses
from biasatlas.lease import lease_gpus
from biasatlas.models.store import ResponseStore
from biasatlas.parsers import PARSERS
from biasatlas.script import logged

with logged(snakemake.log[0]):
    entry = snakemake.config["models"][snakemake.params.judge]
    store = ResponseStore(snakemake.params.store)
    if entry["kind"] == "api":
        from biasatlas.models import api

        endpoint = ApiModel.model_validate(entry)

        def answer(requests):
            return api.answer(requests, endpoint, store=store, parsers=PARSERS)
    else:
        lease_gpus(snakemake.resources.gpu)
        from biasatlas.models import hf  # imports torch, which must not see devices of other jobs

        settings = dict(snakemake.params.model)
        templates = settings.pop("templates", {})
        model = hf.load(**settings)

        def answer(requests):
            return hf.answer(requests, model, templates=templates, store=store)

    benchmark = import_module(f"biasatlas.benchmarks.{snakemake.wildcards.benchmark}.judge")
    answers = [read_parquet(snakemake.input[name]) for name in ("items_file", "requests", "responses")]
    task, protocol = snakemake.wildcards.task, snakemake.params.protocol
    requests = benchmark.build_judge_requests(*answers, task, protocol)
    while True:
        judgements, metadata = answer(requests)
        # Replies that cannot be read are asked for again, until they can be or the protocol's attempts are used up.
        again = benchmark.build_judge_requests(*answers, task, protocol, judgements)
        if again.equals(requests):
            break
        requests = again
    write_requests(requests, snakemake.output.requests)
    write_responses(judgements, snakemake.output.judgements, requests["kind"].iloc[0], metadata)
