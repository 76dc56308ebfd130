"""A likelihood for each occupation and group."""

import pandas as pd

from biasatlas.benchmarks.contract import Step


def build_requests(step: Step) -> pd.DataFrame:
    """A likelihood per occupation and group; ``label`` says whether the group is the stereotypical one."""
    common = {"kind": "likelihood", "prefix": "", "special_tokens": "once", "boundary": "offsets", "repeats": 1}
    rows = [
        common
        | {
            "request_id": f"{item.item_id}/{group}",
            "item_id": item.item_id,
            "continuation": step.options.sentence.format(occupation=item.item_id, group=group),
            "label": "stereotype" if group == item.category else "counterpart",
        }
        for item in step.items[step.items["category"].isin(step.categories)].itertuples()
        for group in step.items["category"].unique()
    ]
    return pd.DataFrame(rows)
