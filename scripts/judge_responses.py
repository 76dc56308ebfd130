"""Let a judge model judge a model's answers (rule judge_responses)."""

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.columns import REQUEST_COLUMNS, RESPONSE_COLUMNS
from biasatlas.files import read_parquet, read_responses, write_parquet, write_responses
from biasatlas.workflow.job import job

with job(snakemake) as this:
    task, judge = snakemake.wildcards.task, this.config.benchmarks[this.name].judge
    answers = (
        read_parquet(snakemake.input.items_file),
        read_parquet(snakemake.input.requests),
        read_responses(snakemake.input.responses, task),
    )
    build, resources = registry.build_judge_requests(this.benchmark), this.resources
    requests = build(*answers, task, this.options, resources)
    judgements, metadata = pd.DataFrame(columns=list(RESPONSE_COLUMNS["generation"])), {}
    if len(requests):  # else every answer was refused: there is nothing to judge
        model = this.open_model(judge)
        store = this.store(judge, "judge", *snakemake.wildcards)
    while len(requests):
        judgements, metadata = model.answer(requests, task, store)
        # Replies that cannot be read are asked for again, until they can be or the protocol's attempts are used up.
        again = build(*answers, task, this.options, resources, judgements)
        if again.equals(requests):
            break
        requests = again
    this.count_run(judge, [metadata], "judge", *snakemake.wildcards)
    kind = requests["kind"].iloc[0] if len(requests) else "generation"
    write_parquet(requests, snakemake.output.requests, REQUEST_COLUMNS)
    write_responses({task: (judgements, kind, metadata)}, snakemake.output.judgements)
