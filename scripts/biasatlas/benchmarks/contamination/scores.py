"""How likely a block is in each of its orders, and whether the published order is likelier than chance."""

import numpy as np
import pandas as pd

from biasatlas.benchmarks.contamination.spec import DESIGN, PUBLISHED, SCORE_COLUMNS
from biasatlas.benchmarks.contract import Step, metric, table
from biasatlas.benchmarks.shared.estimates import Counts, Estimate, make_table, row
from biasatlas.stats.clusters import ratio
from biasatlas.stats.intervals import without
from biasatlas.stats.multiplicity import ALPHA, adjust
from biasatlas.stats.tests import exchanged


def score_responses(step: Step) -> pd.DataFrame:
    """A row per block and order of the list ``category``: its ``log_likelihood`` in nats, missing unless "ok"."""
    listed = step.items.loc[step.items["category"] == step.category, "item_id"]
    mine = step.requests[step.requests["item_id"].isin(listed)]
    joined = mine.merge(step.responses, on="request_id", how="left", validate="one_to_one")
    status = joined["status"].fillna("failed")
    status = status.mask((status == "ok") & joined["log_likelihood"].isna(), "failed")
    value = joined["log_likelihood"].where(status == "ok")
    return joined.assign(status=status, log_likelihood=value)[list(SCORE_COLUMNS)]


_KEYS = ("model", "list")
(_BLOCK,) = DESIGN["block"].scores

#: Below this many blocks a p-value cannot pass Holm's correction over a few models and lists, so there is none.
BLOCKS_NEEDED = 5


@table("order")
def order_table(step: Step) -> pd.DataFrame:
    """By model and list; ``flagged`` counts all tests of the table (Holm): one run in twenty flags by chance."""
    groups = list(step.scores.groupby(["model", "category"], sort=False))
    found = [order_estimates(rows) for _, rows in groups]
    p_values = np.array([estimates["order_p"].value for estimates in found], float)
    adjusted = adjust(p_values[None], "holm")[0] if len(found) else p_values
    made = []
    for (values, rows), estimates, p in zip(groups, found, adjusted, strict=True):
        keys, counts = dict(zip(_KEYS, values, strict=True)), Counts.of(_left_out(rows), rows)
        p_value = estimates["order_p"]
        flag = float(p <= ALPHA) if np.isfinite(p) else np.nan
        flagged = Estimate(
            flag, n=p_value.n, n_clusters=p_value.n_clusters, no_interval_reason=p_value.no_interval_reason
        )
        made += [row(keys, name, each, counts) for name, each in {**estimates, "flagged": flagged}.items()]
    return make_table(_KEYS, made)


def _left_out(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per item of each block that lacks an order, with the status of the first that it lacks."""
    lost = rows[rows["status"] != "ok"].drop_duplicates(_BLOCK)
    return lost.loc[lost.index.repeat(lost["length"])]


@metric("order_advantage", "order_p", "flagged")
def order_estimates(rows: pd.DataFrame) -> dict[str, Estimate]:
    """The metrics of one model and list.

    ``order_advantage``: log-likelihood of the published order minus the mean of the other orders, nats an item, over
    all blocks, with an interval over them. ``order_p``: one-sided, how often that sum is at least as large if each
    block's order is drawn with equal chances; exact for any model, if the list is exchangeable. Blocks that lack an
    order are left out; missing below :data:`BLOCKS_NEEDED`. ``n`` counts items.
    """
    wide = rows.pivot(index=_BLOCK, columns="order", values="log_likelihood").dropna()
    length = rows.drop_duplicates(_BLOCK).set_index(_BLOCK)["length"].reindex(wide.index)
    n, blocks = int(length.sum()), len(wide)
    if blocks < BLOCKS_NEEDED:
        reason = f"{blocks} block{'' if blocks == 1 else 's'}, {BLOCKS_NEEDED} are needed"
        missing = Estimate(np.nan, n=n, n_clusters=blocks, no_interval_reason=reason)
        return {"order_advantage": Estimate.of(without(np.nan, blocks, reason), n), "order_p": missing}
    advantage = wide[PUBLISHED] - wide.drop(columns=PUBLISHED).mean(axis=1)
    estimate = ratio(advantage, length, wide.index)
    p_value = exchanged(wide[[PUBLISHED, *wide.columns.drop(PUBLISHED)]].to_numpy(float))
    return {"order_advantage": Estimate.of(estimate, n), "order_p": Estimate(p_value, n=n, n_clusters=blocks)}
