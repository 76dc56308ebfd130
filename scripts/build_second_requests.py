"""Build requests that ask what unparsed replies, and a sample of the others, answer (rule build_second_requests)."""

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import replies, second_parse
from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.files import read_asked, read_responses, write_parquet
from biasatlas.workflow.job import job

with job(snakemake) as this:
    parsers = registry.parsers(this.benchmark)
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
    write_parquet(requests, snakemake.output.requests, REQUEST_COLUMNS)
