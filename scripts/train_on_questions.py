"""Train a tiny language model on a benchmark's questions, answered with a planted bias (rule train_on_questions)."""

from pathlib import Path

from biasatlas.benchmarks import registry
from biasatlas.files import read_parquet, read_requests
from biasatlas.models.planted.corpus import answered
from biasatlas.models.planted.train import train_on_questions
from biasatlas.workflow.job import job

with job(snakemake) as this:
    items, entry = read_parquet(snakemake.input.items_file), this.step["model"]
    questions = []
    for task, path in this.given("requests"):
        requests = read_requests(path)
        bias_roles = registry.bias_roles(this.benchmark)(items, requests, task)
        questions += answered(requests, bias_roles, entry["odds_ratio"])
    train_on_questions(questions, Path(snakemake.output[0]).parent, seed=entry["seed"])
