"""A table of occupations as items."""

import pandas as pd

from biasatlas.benchmarks.contract import Step


def read_items(step: Step) -> pd.DataFrame:
    """One row per occupation; its category is the group that it is a stereotype of."""
    table = pd.read_csv(step.files["occupations.csv"], dtype=str)
    return table.rename(columns={"occupation": "item_id", "group": "category"})
