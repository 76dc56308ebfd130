"""Let a model parse the replies that could not be parsed, and a sample of the others (rule parse_with_model)."""

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import replies, second_parse
from biasatlas.columns import REQUEST_COLUMNS, RESPONSE_COLUMNS
from biasatlas.files import read_asked, read_responses, write_parquet, write_responses
from biasatlas.workflow.job import job

with job(snakemake) as this:
    name, parsers = this.config.benchmarks[this.name].parse_with, registry.parsers(this.benchmark)
    parts = []
    for each in this.given("answers"):
        answered = read_responses(each["responses"], each["task"])
        if "log_likelihood" in answered:
            continue
        kind, found = replies.answers(read_asked(each["requests"]), answered, parsers)
        if kind == "replies":
            again = second_parse.parsed_again(found.assign(model=each["model"], task=each["name"]))
            parts.append(second_parse.build_requests(again))
    requests = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    responses, metadata = pd.DataFrame(columns=list(RESPONSE_COLUMNS["generation"])), {}
    if len(requests):
        store = this.store(name, "second_parse", *snakemake.wildcards)
        responses, metadata = this.open_model(name).answer(requests, "second_parse", store)
    this.count_run(name, [metadata], "second_parse", *snakemake.wildcards)
    write_parquet(requests, snakemake.output.requests, REQUEST_COLUMNS)
    write_responses({"second_parse": (responses, "generation", metadata)}, snakemake.output.responses)
