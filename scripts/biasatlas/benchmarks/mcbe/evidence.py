"""Scores of the five tasks with their replicates over sentences."""

from collections.abc import Iterator

import numpy as np

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.mcbe.spec import McBEOptions
from biasatlas.benchmarks.mcbe.tables import TEMPLATE, cells, on_one_scale
from biasatlas.benchmarks.shared.evidence import Evidence, items_of
from biasatlas.stats.replicates import ratio_replicates


def evidence(step: Step[McBEOptions]) -> Iterator[Evidence]:
    """``score`` by task and category. 100 is no null that a model with any noise meets, so nothing is claimed of it."""
    for (_, category, task), _, items in cells(on_one_scale(step.scores, step.options)):
        if len(items):
            templates = items.index.get_level_values(TEMPLATE)
            value = ratio_replicates(items, np.ones(len(items)), templates)
            names = items.index.get_level_values("item_id")
            sampled = items_of(names.to_series(), templates.to_series())
            yield Evidence("score", task, category, value, sampled, bounds=(0, 100), rate=task == "SC")
