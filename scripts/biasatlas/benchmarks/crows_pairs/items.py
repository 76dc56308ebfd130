"""The authors' table of sentence pairs as items."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.crows_pairs.vocabulary import BIAS_TYPES
from biasatlas.errors import UserError
from biasatlas.resources import Resources

_NAME = "data/crows_pairs_anonymized.csv"
_DIRECTIONS = ("stereo", "antistereo")


def read_items(files: Mapping[str, Path], resources: Resources) -> pd.DataFrame:
    """Items from ``data/crows_pairs_anonymized.csv``.

    One row per pair: ``item_id`` (upstream's running number), ``category`` (the bias type), ``direction``, and the
    sentences ``more`` and ``less`` as published. ``more`` is the more stereotypical sentence in both directions: in
    "stereo" it shows a stereotype of a disadvantaged group, in "antistereo" ``less`` goes against one. Pairs 1459 and
    1502 upstream are the same; both are kept, as in the authors' counts.

    Raises :class:`UserError` naming file, pair and value for anything else than the published schema.
    """
    if _NAME not in files:
        raise UserError(f"CrowS-Pairs: expected {_NAME}, found {sorted(files)}. Fetch the source again.")
    path = files[_NAME]
    raw = pd.read_csv(path, index_col=0, keep_default_na=False, dtype=str)
    expected = ["sent_more", "sent_less", "stereo_antistereo", "bias_type"]
    missing = [name for name in expected if name not in raw]
    if missing:
        raise UserError(f"{path}: no column {missing[0]!r}; expected {expected}, found {list(raw.columns)}.")
    for column, values in (("stereo_antistereo", _DIRECTIONS), ("bias_type", BIAS_TYPES)):
        invalid = raw[column][~raw[column].isin(values)]
        if len(invalid):
            raise UserError(
                f"{path}, pair {invalid.index[0]}: {column} is {invalid.iloc[0]!r}, expected one of {values}."
            )
    empty = raw[(raw["sent_more"] == "") | (raw["sent_less"] == "")]
    if len(empty):
        raise UserError(f"{path}, pair {empty.index[0]}: a sentence is empty; expected two sentences.")
    if raw.index.duplicated().any():
        raise UserError(f"{path}: number {raw.index[raw.index.duplicated()][0]} occurs more than once.")
    return pd.DataFrame(
        {
            "item_id": raw.index.astype(str),
            "category": raw["bias_type"].to_numpy(),
            "direction": raw["stereo_antistereo"].to_numpy(),
            "more": raw["sent_more"].to_numpy(),
            "less": raw["sent_less"].to_numpy(),
        }
    )
