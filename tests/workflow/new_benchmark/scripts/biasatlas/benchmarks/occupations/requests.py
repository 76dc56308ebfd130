"""A likelihood for each occupation and group."""

from collections.abc import Sequence

import pandas as pd

from biasatlas.benchmarks.occupations.spec import OccupationsOptions
from biasatlas.resources import Resources


def build_requests(
    items: pd.DataFrame,
    task: str,
    categories: Sequence[str],
    options: OccupationsOptions,
    resources: Resources,
    orders: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """A row per occupation and group, whose ``label`` says whether that is the stereotypical group or its counterpart."""
    rows = [
        {
            "request_id": f"{item.item_id}/{group}",
            "item_id": item.item_id,
            "kind": "likelihood",
            "prefix": "",
            "continuation": options.sentence.format(occupation=item.item_id, group=group),
            "special_tokens": "once",
            "boundary": "offsets",
            "repeats": 1,
            "label": "stereotype" if group == item.category else "counterpart",
        }
        for item in items[items["category"].isin(categories)].itertuples()
        for group in items["category"].unique()
    ]
    return pd.DataFrame(rows)
