"""Train a tiny language model with a planted bias (rule train_planted)."""

from pathlib import Path

from snakemake.script import snakemake

from biasatlas.models.planted import load_grammar, train
from biasatlas.script import logged

with logged(snakemake.log[0]):
    train(
        load_grammar(Path(snakemake.input.grammar)),
        odds_ratio=snakemake.params.odds_ratio,
        seed=snakemake.params.seed,
        folder=Path(snakemake.output.weights),
    )
