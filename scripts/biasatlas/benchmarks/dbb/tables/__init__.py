"""DBB's tables: how many instances reach the threshold, beside what sampling alone would give, with intervals."""

from biasatlas.benchmarks.dbb.tables import (
    answers,
    associations,
    bias,
    composition,
    consistency,
    distribution,
    replication,
)

__all__ = ["answers", "associations", "bias", "composition", "consistency", "distribution", "replication"]
