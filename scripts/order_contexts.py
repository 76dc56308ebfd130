"""Ask a judge model whether context or sentence comes first, for each item (rule order_contexts)."""

from biasatlas.benchmarks import registry
from biasatlas.files import read_parquet, write_responses
from biasatlas.workflow.job import job

with job(snakemake) as this:
    task, judge = snakemake.wildcards.task, this.config.benchmarks[this.name].judge
    requests = registry.build_order_requests(this.benchmark)(
        read_parquet(snakemake.input.items_file), this.step["categories"], this.resources
    )
    store = this.store(judge, "judge", *snakemake.wildcards)
    responses, metadata = this.open_model(judge).answer(requests, task, store)
    write_responses({task: (responses, "generation", metadata)}, snakemake.output.orders)
