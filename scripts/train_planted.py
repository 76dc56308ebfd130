"""Train a tiny language model with a planted bias (rule train_planted)."""

from biasatlas.models.corpus import read_grammar
from biasatlas.models.planted import train
from biasatlas.script import logged

with logged(snakemake.log[0]):
    train(
        read_grammar(snakemake.input.grammar),
        snakemake.output.weights,
        odds_ratio=snakemake.params.odds_ratio,
        seed=snakemake.params.seed,
    )
