"""Train a tiny language model with a planted bias (rule train_planted)."""

from biasatlas.models.planted.corpus import read_grammar
from biasatlas.models.planted.train import train
from biasatlas.workflow.job import logged

with logged(snakemake.log[0]):
    train(
        read_grammar(snakemake.input.grammar),
        snakemake.output.weights,
        odds_ratio=snakemake.params.odds_ratio,
        seed=snakemake.params.seed,
    )
