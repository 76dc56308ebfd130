"""Which sentences choices and likelihoods prefer."""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from biasatlas.columns import MASSES, STOPPED


def parse_probabilities(probabilities: pd.Series, labels: Sequence[str]) -> np.ndarray:
    """JSON lists as an array (rows, labels); a row of NaN where there is none."""
    known = probabilities.notna().to_numpy()
    values = np.full((len(probabilities), len(labels)), np.nan)
    if known.any():
        values[known] = json.loads("[" + ",".join(probabilities[known]) + "]")
    return values


def chosen_sentences(requests: pd.DataFrame, responses: pd.DataFrame, sentences: Sequence[str]) -> pd.DataFrame:
    """Mean probability of each sentence and of each of ``MASSES`` by item, over its orders and repeats; ``status``,
    ``detail``.

    In the columns "at_least_" + sentence, a request that failed counts as one that chose no sentence; they are missing
    for an item to which no request applies.

    If an order has no answer, ``status`` is that of its response ("failed" without one). Else it is "ok" if in each
    order some sentence has some probability; else what the first other order says most: "refused", "ambiguous" or
    "unparseable" (also if it was not followed to its end), or "filtered" or "thought" if that stopped it. Replies to
    one order are averaged first.
    """
    joined = requests.merge(responses, on="request_id", how="left", validate="one_to_many")
    shares = parse_probabilities(joined["probabilities"], sentences)
    order = np.array([json.loads(labels) for labels in joined["order"]]).reshape(len(joined), len(sentences))
    for sentence in sentences:
        joined[sentence] = shares[order == sentence]
    orders = joined.groupby(["item_id", "request_id"], sort=False)[[*sentences, *MASSES]].mean()
    stopped = joined["status"].where(joined["status"].isin(STOPPED))
    stopped = stopped.groupby([joined["item_id"], joined["request_id"]], sort=False).first().reindex(orders.index)
    silence = np.where(stopped.notna(), stopped, _silence(orders))
    orders["status"] = np.where(orders[list(sentences)].sum(axis=1) > 0, "ok", silence)
    groups = joined.groupby("item_id")
    mean = groups[[*sentences, *MASSES]].mean()
    lost = joined["probabilities"].isna() & (joined["status"] != "not_applicable")
    for sentence in sentences:
        mean[f"at_least_{sentence}"] = joined[sentence].mask(lost, 0.0).groupby(joined["item_id"]).mean()
    missing = joined[joined["probabilities"].isna()].groupby("item_id")["status"].first().reindex(mean.index)
    lacking = groups["probabilities"].count() < groups.size()
    silent = orders.loc[orders["status"] != "ok", "status"].groupby("item_id").first().reindex(mean.index)
    mean["status"] = np.where(lacking, missing.fillna("failed"), silent.fillna("ok"))
    said = joined["detail"].mask(joined["detail"] == "")
    mean["detail"] = said.groupby(joined["item_id"]).first().reindex(mean.index)
    return mean


def _silence(masses: pd.DataFrame) -> np.ndarray:
    """The status that rows of ``MASSES`` without an option give most of their probability."""
    found = masses[["refused", "ambiguous"]].assign(unparseable=masses["unparseable"] + masses["unresolved"])
    return found.fillna(0).idxmax(axis=1).to_numpy(object)


def sentence_likelihoods(
    requests: pd.DataFrame, responses: pd.DataFrame, sentences: Sequence[str], reduction: str
) -> pd.DataFrame:
    """Log-likelihood in nats, by item, of each of ``sentences`` (``label`` of ``requests``); ``status`` and ``detail``.

    ``reduction``: "sum" over tokens or "mean" per token. An item is "ok" if all of its sentences are; else it has the
    status of the first that is not. A sentence without response or without value is "failed".
    """
    joined = requests.merge(responses, on="request_id", how="left", validate="one_to_one")
    value = -joined["nll_per_token"] if reduction == "mean" else joined["log_likelihood"]
    status = joined["status"].fillna("failed")
    joined = joined.assign(value=value, status=status.mask((status == "ok") & value.isna(), "failed"))
    wide = joined.pivot(index="item_id", columns="label", values="value").reindex(columns=list(sentences))
    worst = joined.sort_values("status", key=lambda status: status == "ok", kind="stable").drop_duplicates("item_id")
    return wide.join(worst.set_index("item_id")[["status", "detail"]])
