"""The authors' table of sentence pairs as items."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from biasatlas.benchmarks.crows_pairs.vocabulary import BIAS_TYPES
from biasatlas.errors import UserError
from biasatlas.resources import Resources
from biasatlas.userfiles import check_texts, listed, read_csv_rows, shown

_NAME = "data/crows_pairs_anonymized.csv"
_DIRECTIONS = ("stereo", "antistereo")
#: Upstream's first column has no name.
_NUMBER = ""
_COLUMNS = (_NUMBER, "sent_more", "sent_less", "stereo_antistereo", "bias_type", "anon_writer")


def read_items(files: Mapping[str, Path], resources: Resources) -> pd.DataFrame:
    """Items from ``data/crows_pairs_anonymized.csv``.

    One row per pair: ``item_id`` (upstream's running number), ``category`` (the bias type), ``direction``,
    ``writer`` (the person who wrote the pair, a running name), and the sentences ``more`` and ``less`` as published. ``more`` is the more stereotypical sentence in both directions: in
    "stereo" it shows a stereotype of a disadvantaged group, in "antistereo" ``less`` goes against one. Pairs 1459 and
    1502 upstream are the same; both are kept, as in the authors' counts.

    Raises :class:`UserError` naming file, line and value for anything else than the published schema.
    """
    if _NAME not in files:
        raise UserError(f"CrowS-Pairs: expected {_NAME}, found {listed(files)}. Fetch the source again.")
    items: dict[str, dict[str, str]] = {}
    for where, row in read_csv_rows(files[_NAME], _COLUMNS):
        for column, values in (("stereo_antistereo", _DIRECTIONS), ("bias_type", BIAS_TYPES)):
            if row[column] not in values:
                raise UserError(f"{where}: {column} is {shown(row[column])}, expected one of {values}.")
        check_texts(where, row, ("sent_more", "sent_less", "anon_writer"))
        number = row[_NUMBER]
        if not number or number in items:
            fault = f"number {number} occurs more than once" if number else "the first cell is empty"
            raise UserError(f"{where}: {fault}. Number the pairs.")
        items[number] = {
            "item_id": number,
            "category": row["bias_type"],
            "direction": row["stereo_antistereo"],
            "writer": row["anon_writer"],
            "more": row["sent_more"],
            "less": row["sent_less"],
        }
    return pd.DataFrame(list(items.values()))
