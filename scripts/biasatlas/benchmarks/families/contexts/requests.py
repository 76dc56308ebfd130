"""One choice between three options for each item."""

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.contexts.spec import LABELS, PROMPT_FIELDS, ContextsDescription, ContextsOptions
from biasatlas.benchmarks.shared.choices import choice_columns


def build_requests(step: Step[ContextsOptions]) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. Options keep their order."""
    description: ContextsDescription = step.description
    items = step.items[step.items["category"].isin(step.categories)]
    template = description.prompt_template(step.resources, PROMPT_FIELDS).strip()
    prompts = [template.replace("{question}", question) for question in items["question"]]
    columns = choice_columns(prompts, LABELS, items[list(LABELS)].to_numpy().tolist(), step.options)
    columns["parser"] = "letter" if step.options.parser == "whole" else step.options.parser
    return pd.DataFrame({"request_id": items["item_id"], "item_id": items["item_id"]} | columns)
