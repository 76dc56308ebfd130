"""A table of occupations as items."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from biasatlas.resources import Resources


def read_items(files: Mapping[str, Path], resources: Resources) -> pd.DataFrame:
    """One row per occupation of ``occupations.csv``; its category is the group that it is a stereotype of."""
    table = pd.read_csv(files["occupations.csv"], dtype=str)
    return table.rename(columns={"occupation": "item_id", "group": "category"})
