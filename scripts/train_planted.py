"""Train a tiny language model with a planted bias (rule train_planted)."""

from pathlib import Path

from biasatlas.models.planted.corpus import read_grammar
from biasatlas.models.planted.train import train
from biasatlas.workflow.job import job

with job(snakemake):
    train(
        read_grammar(snakemake.input.grammar[0]),
        Path(snakemake.output[0]).parent,
        odds_ratio=snakemake.params.model["odds_ratio"],
        seed=snakemake.params.model["seed"],
    )
