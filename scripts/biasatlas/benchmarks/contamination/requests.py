"""The likelihood of each block of a list in its published order, and in random ones."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contamination.spec import PUBLISHED, ContaminationOptions
from biasatlas.benchmarks.contract import Step


def build_requests(step: Step[ContaminationOptions]) -> pd.DataFrame:
    """A row per block of neighbours and order of it; ``item_id`` and ``block`` are the block's first item's.

    A block has ``options.block`` items, the last of a list what is left, where that is two at least. Orders are drawn
    at random, the published one among those possible; they follow from the list alone, so all models read the same.
    """
    rows = []
    for name in step.categories:
        listed = step.items[step.items["category"] == name]
        rng = np.random.default_rng(list(name.encode()))
        for start in range(0, len(listed) - 1, step.options.block):
            block = listed.iloc[start : start + step.options.block]
            texts, first = block["text"].to_numpy(object), block["item_id"].iloc[0]
            drawn = [np.arange(len(block)), *(rng.permutation(len(block)) for _ in range(step.options.orders))]
            rows += [
                {
                    "request_id": f"{first}/{number}",
                    "item_id": first,
                    "kind": "likelihood",
                    "prefix": "",
                    "continuation": "\n".join(texts[order]),
                    "special_tokens": "once",
                    "boundary": "offsets",
                    "repeats": 1,
                    "block": first,
                    "order": PUBLISHED + number,
                    "length": len(block),
                }
                for number, order in enumerate(drawn)
            ]
    return pd.DataFrame(rows)
