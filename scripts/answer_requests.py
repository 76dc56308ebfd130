"""Let a model answer all tasks of a benchmark that it can, or a shard of each (rules answer_requests, answer_shard)."""

from biasatlas.files import read_requests, write_responses
from biasatlas.models.scheduling import answer_batches
from biasatlas.workflow.job import job

with job(snakemake) as this:
    name = snakemake.wildcards.model
    number, shards = map(int, snakemake.wildcards.get("shard", "1-of-1").split("-of-"))
    model = this.open_model(name)
    parts = {}
    for place, (task, path) in enumerate(this.given("requests").items()):
        this.at(task)
        requests = read_requests(path)
        # Tasks that have a single batch go to different shards.
        share = ((number + place) % shards, shards)
        store = this.store(name, this.name, this.protocol, task)
        responses, metadata = answer_batches(model, requests, task, store, share)
        parts[task] = responses, requests["kind"].iloc[0], metadata
    this.count_run(name, (metadata for _, _, metadata in parts.values()), this.name, this.protocol)
    write_responses(parts, snakemake.output.responses, snakemake.output.run)
