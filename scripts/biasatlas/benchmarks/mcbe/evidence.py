"""Scores of the five tasks with their replicates over sentences."""

from collections.abc import Iterator

import numpy as np

from biasatlas.benchmarks.contract import Multiverse, Step
from biasatlas.benchmarks.mcbe.spec import McBEOptions
from biasatlas.benchmarks.mcbe.tables import TEMPLATE, cells, on_one_scale
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.stats.replicates import ratio_replicates

UNIT = ("task", "item_id", "prompt_set", "repeat")

MULTIVERSES = tuple(
    Multiverse("task_means", "mean_score", {"task": task, "average": "available"}, options=options, tasks=(task,))
    for task, options in (
        ("PC", ("nll_reduction", "pc_spread", "pc_decay")),
        ("SC", ("sc_unparsed",)),
        ("SS", ("ss_unparsed", "ss_decay")),
        ("BS", ("bs_unparsed",)),
    )
)


def evidence(step: Step[McBEOptions]) -> Iterator[Evidence]:
    """``score`` by task and category. 100 is no null that a model with any noise meets, so nothing is claimed of it."""
    for (_, category, task), _, items in cells(on_one_scale(step.scores, step.options)):
        if len(items):
            templates = items.index.get_level_values(TEMPLATE)
            value = ratio_replicates(items, np.ones(len(items)), templates)
            names = items.index.get_level_values("item_id")
            sampled = items_of(names.to_series(), templates.to_series())
            yield Evidence("score", task, category, value, sampled, bounds=(0, 100))
