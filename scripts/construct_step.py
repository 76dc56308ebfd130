"""Do one step of the construction: ask the writer about every row that is left, and read its replies (rule construct_step)."""

import os

from biasatlas.benchmarks.dbb.construct import steps
from biasatlas.files import read_csv, write_csv
from biasatlas.workflow.lease import lease_gpus
from biasatlas.models.answerer import answerer
from biasatlas.models.store import ResponseStore
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    rows = read_csv(snakemake.input.rows).fillna("")
    step = snakemake.params.step
    requests = steps.build(step, rows, steps.read_prompts())
    if len(requests):
        lease_gpus(snakemake.resources.gpu)
        os.environ["HF_HUB_OFFLINE"] = "1"  # rule fetch_model did what takes a network
        writer, store = snakemake.params.writer, ResponseStore(snakemake.params.store)
        entry = snakemake.config["models"][writer]
        answer = answerer(writer, entry, snakemake.params.model, str(snakemake.input.ready), store, {})
        responses, _ = answer(requests)
        rows = steps.parse(step, rows, responses)
    write_csv(rows, snakemake.output.rows)
