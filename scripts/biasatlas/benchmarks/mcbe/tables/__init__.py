"""McBE's tables: from item scores to scores by model, category and task, with intervals; a module by subject.

Intervals are percentile intervals of a bootstrap over items (Wilson's for SC, a share of right answers): they say how
far a value would move with other instances of the same kind. An item's score is the mean over its repeats.
"""

from biasatlas.benchmarks.mcbe.tables import agreement, dataset, friedman, means, replication, robustness, scores

__all__ = ["agreement", "dataset", "friedman", "means", "replication", "robustness", "scores"]
