"""Let a model parse replies that could not be parsed, and a sample of others (rule parse_with_model)."""

import pandas as pd

from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.files import read_parquet, write_responses
from biasatlas.workflow.job import job

with job(snakemake) as this:
    name = this.config.benchmarks[this.name].parse_with
    requests = read_parquet(snakemake.input.requests)
    responses, metadata = pd.DataFrame(columns=list(RESPONSE_COLUMNS["generation"])), {}
    if len(requests):  # else every reply was parsed, or none was sampled
        store = this.store(name, "second_parse", *snakemake.wildcards)
        responses, metadata = this.open_model(name).answer(requests, "second_parse", store)
    this.count_run(name, [metadata], "second_parse", *snakemake.wildcards)
    write_responses({"second_parse": (responses, "generation", metadata)}, snakemake.output.responses)
