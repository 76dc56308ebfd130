"""One decision for each case."""

import json

import pandas as pd

from biasatlas.benchmarks.contract import Step
from biasatlas.benchmarks.families.decisions.spec import PROMPT_FIELDS, DecisionsDescription, DecisionsOptions
from biasatlas.benchmarks.shared.choices import choice_columns


def build_requests(step: Step[DecisionsOptions]) -> pd.DataFrame:
    """A row per item; ``request_id`` is the item's. The labels are the words or numbers that decide."""
    description: DecisionsDescription = step.description
    items = step.items[step.items["category"].isin(step.categories)]
    template = description.prompt_template(step.resources, PROMPT_FIELDS).strip()
    prompts = [template.replace("{document}", document) for document in items["document"]]
    labels = list(description.labels)
    columns = choice_columns(prompts, labels, [labels] * len(items), step.options)
    whole = "label" if description.yes_no else "rank" if description.rank else "integer"
    parser = whole if step.options.parser == "whole" else step.options.parser
    ids = {"request_id": items["item_id"], "item_id": items["item_id"]}
    return pd.DataFrame(ids | columns | {"labels": json.dumps(labels), "parser": parser})
