"""Count the outcomes of a benchmark's answers, and list replies that could not be parsed (rule summarise_outcomes)."""

import sys

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared import replies, second_parse
from biasatlas.benchmarks.shared.estimates import make_table
from biasatlas.errors import UserError
from biasatlas.files import read_asked, read_parquet, read_responses, write_csv, write_table, write_text
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

#: Replies of each unparsed form that are shown.
EXAMPLES = 10

with job(snakemake) as this:
    spec, parsers = registry.spec_view(this.benchmark, "outcomes"), registry.parsers(this.benchmark)
    items = read_parquet(snakemake.input.items_file)
    asked = [
        (each["model"], each["name"], each["task"], each["requests"], each["responses"])
        for each in this.given("answers")
    ]
    if not asked:  # after jobs failed, see biasatlas.workflow.failures
        raise UserError(f"table outcomes of {this.name} ({this.protocol}): no model has answers; mend what failed")
    by, path = this.step["parse_with"], snakemake.input.second_parse
    said = read_responses(path, "second_parse") if path else None
    rows, unparsed, texts, remarks = [], [], [], []
    for model, name, task, requests, responses in asked:
        answered = read_responses(responses, task)
        # Likelihoods have no replies, and may be millions: their requests are not read.
        questions = pd.DataFrame() if "log_likelihood" in answered else read_asked(requests)
        kind, found = replies.answers(questions, answered, parsers)
        rows += replies.outcome_rows({"model": model, "task": name, "answers": kind}, found, items)
        lost = replies.unparsed(found)
        if said is not None and kind == "replies":
            again = second_parse.parsed_again(found.assign(model=model, task=name))
            again["second_parse"] = second_parse.second_parse(again, said, parsers)
            agreement = second_parse.agreement_rows({"model": model, "task": name, "answers": kind}, again)
            rows += agreement
            remarks.append(second_parse.agreement(model, name, by, agreement))
            lost = lost.merge(again[["request_id", "repeat", "second_parse"]], on=["request_id", "repeat"], how="left")
        elif kind == "replies" and not by:  # else a second parse failed
            remarks.append(second_parse.offer(this.name, model, name, found))
        unparsed.append(lost.assign(model=model, task=name)[["model", "task", *lost]])
        if len(lost):
            texts.append(f"== {model}, {name}\n\n{replies.examples(lost, EXAMPLES)}\n")
    rows.sort(key=lambda row: row["grouped_by"] is not None)  # stable: whole tasks first, then their groups
    write_table(make_table(replies.KEYS, rows), snakemake.output.table, spec.metrics)
    write_csv(pd.concat(unparsed, ignore_index=True), snakemake.output.unparsed)
    if told := "".join(f"{remark}\n" for remark in remarks if remark):
        print(told, end="", file=sys.stderr)
        texts.insert(0, told)
    write_text(
        "\n".join(texts) or "Every reply in words could be read, or none was asked for.\n", snakemake.output.examples
    )
    answers = {f"{model}/{name}": (responses, task) for model, name, task, _, responses in asked}
    origin = provenance.of_answers(answers, snakemake.input.items_file, table="outcomes", code=this.step["code"])
    provenance.write(origin, snakemake.output.provenance)
