"""Score a model's responses under every choice of analysis (rule score_again)."""

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.declared import METRICS
from biasatlas.benchmarks.comparisons.multiverse import multiverse_table
from biasatlas.files import read_asked, read_parquet, read_responses, write_table
from biasatlas.workflow.job import job

with job(snakemake) as this:
    given, categories, resources = snakemake.input, this.step["categories"], this.resources
    items = read_parquet(given.items_file)
    asked = {
        task: (read_asked(path), read_responses(given.responses, task)) for task, path in this.given("requests").items()
    }

    def score(task, options):
        """The scores of a task under some options."""
        model = snakemake.wildcards.model
        parts = [
            registry.score_responses(this.benchmark)(items, *asked[task], task, category, options, resources).assign(
                model=model, task=task, category=category
            )
            for category in categories[task]
        ]
        # A frame without rows has untyped columns, which would turn the others' numbers into objects.
        return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)

    table = multiverse_table(this.benchmark, this.name, score, this.options, resources, tuple(categories))
    write_table(table, snakemake.output.table, METRICS)
