"""Do one step of the construction: ask the writer about every row that is left, and read its replies (rule construct_step)."""

from biasatlas.benchmarks.dbb.construct import steps
from biasatlas.files import read_csv, write_csv
from biasatlas.resources import Resources
from biasatlas.workflow.job import job

with job(snakemake) as this:
    rows, step = read_csv(snakemake.input.rows).fillna(""), snakemake.params.step
    prompts = steps.read_prompts(Resources.given(snakemake.params.prompts, snakemake.input.prompts))
    requests = steps.build(step, rows, prompts)
    if len(requests):
        writer = this.config.construction.writer
        store = this.store(writer, "construction", step)
        responses, _ = this.open_model(writer).answer(requests, step, store)
        rows = steps.parse(step, rows, responses)
    write_csv(rows, snakemake.output.rows)
