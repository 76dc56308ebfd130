"""Score a model's responses to one task, a file per category (rules score_{benchmark})."""

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.framings import by_framing
from biasatlas.benchmarks.shared.stops import Stop
from biasatlas.files import read_asked, read_parquet, read_responses, write_scores, write_task_scores
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake) as this:
    task, model = snakemake.wildcards.task, snakemake.wildcards.model
    given = snakemake.input
    answers = read_parquet(given.items_file), read_asked(given.requests), read_responses(given.responses, task)
    if given.stop:
        stop = Stop.read(given.stop)
        answers = stop.cut(answers[0]), stop.cut(answers[1]), answers[2]
    judgements = read_responses(given.judgements, task) if given.judgements else None
    columns = registry.spec_view(this.benchmark, "score_responses", task=task).tasks[task].scores
    score, resources = registry.score_responses(this.benchmark), this.resources
    items, asked, responses = answers
    framed = [*by_framing(asked, responses)] if "framing" in asked else []
    for category, path in zip(this.step["categories"], snakemake.output.scores, strict=True):
        if framed:
            parts = [
                score(
                    items[items["item_id"].isin(part["item_id"])], part, said, task, category, this.options, resources
                ).assign(framing=name)
                for name, part, said in framed
            ]
            scores = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
        else:
            scores = score(*answers, task, category, this.options, resources, judgements)
        write_scores(scores, path, [*columns, *["framing"] * bool(framed)], model=model, task=task, category=category)
    origin = provenance.of_scores(
        items=given.items_file,
        requests=given.requests,
        responses=given.responses,
        judgements=given.judgements or None,
        name=model,
        model=this.step["model"],
        task=task,
        protocol=this.protocol,
        options=this.step["options"],
        code=this.step["code"],
    )
    provenance.write(origin, snakemake.output.provenance)
    write_task_scores(snakemake.output.scores, snakemake.output.task_scores, origin)
