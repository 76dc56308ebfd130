"""Do one step of the construction: ask the writer about all rows left, and read its replies (rule construct_step)."""

from biasatlas.benchmarks.dbb import construct
from biasatlas.benchmarks.dbb.dataset import read_prompts
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.job import job

with job(snakemake) as this:
    rows, step = read_csv(snakemake.input.rows).fillna(""), this.step["name"]
    responses, prompts = None, read_prompts(this.resources, this.step["templates"])
    requests = construct.build(step, rows, prompts)
    if len(requests):
        writer = this.config.construction.writer
        store, model = this.store(writer, "construction", step), this.open_model(writer)
    while len(requests):
        responses, _ = model.answer(requests, step, store)
        # Replies that cannot be used are asked for again; what was answered comes from the store.
        again = construct.build(step, rows, prompts, responses)
        if again.equals(requests):
            break
        requests = again
    rows = construct.parse(step, rows, construct.NO_RESPONSES if responses is None else responses, prompts)
    write_csv(rows, snakemake.output.rows)
