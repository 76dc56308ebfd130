"""Train a tiny language model with a planted bias (rule train_planted)."""

from pathlib import Path

from biasatlas.models.planted.corpus import read_grammar
from biasatlas.models.planted.train import train
from biasatlas.workflow.job import job

with job(snakemake) as this:
    train(
        read_grammar(snakemake.input.grammar[0]),
        Path(snakemake.output[0]).parent,
        odds_ratio=this.step["model"]["odds_ratio"],
        seed=this.step["model"]["seed"],
    )
