"""How likely a block is in each of its orders."""

import pandas as pd

from biasatlas.benchmarks.contamination.spec import SCORE_COLUMNS
from biasatlas.benchmarks.contract import Step


def score_responses(step: Step) -> pd.DataFrame:
    """A row per block and order of the list ``category``: its ``log_likelihood`` in nats, missing unless "ok"."""
    listed = step.items.loc[step.items["category"] == step.category, "item_id"]
    mine = step.requests[step.requests["item_id"].isin(listed)]
    joined = mine.merge(step.responses, on="request_id", how="left", validate="one_to_one")
    status = joined["status"].fillna("failed")
    status = status.mask((status == "ok") & joined["log_likelihood"].isna(), "failed")
    value = joined["log_likelihood"].where(status == "ok")
    return joined.assign(status=status, log_likelihood=value)[list(SCORE_COLUMNS)]
