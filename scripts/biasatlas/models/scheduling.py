"""Conversations: requests that continue the model's own reply to another request."""

import json
from typing import TYPE_CHECKING

import pandas as pd

from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.errors import UserError

if TYPE_CHECKING:
    from biasatlas.models.interface import Model
    from biasatlas.models.store import ResponseStore

NO_REPLY = "the turn before it has no reply"


def answer_batches(
    model: "Model",
    requests: pd.DataFrame,
    task: str,
    store: "ResponseStore | None" = None,
    share: tuple[int, int] = (0, 1),
) -> tuple[pd.DataFrame, dict]:
    """What ``model.answer`` gives for requests of which some name another request in the column ``reply_to``, if any.

    Such a request has an assistant's message without content, which is filled with the reply to the other. It is asked
    once that reply exists, and "failed" without one. All these requests have one repeat. Each round asks all requests
    that are ready; earlier answers come from ``store``, so the last round's dictionary is about all answers.

    Raises UserError for a model with shards, since a reply may lie in another's share.
    """
    if "reply_to" not in requests or requests["reply_to"].isna().all():
        return model.answer(requests, task, store, share)
    if share != (0, 1):
        raise UserError(
            f"task {task} goes on from the model's own replies, in one job: remove `shards` from its entry."
        )
    if (requests["repeats"] != 1).any():
        raise ValueError(f"task {task}: a request in turns has one repeat")
    waiting = requests["reply_to"].notna()
    asked, known = requests[~waiting], -1
    responses, metadata = model.answer(asked, task, store)
    while known < len(asked) < len(requests):
        known = len(asked)
        replies = responses.dropna(subset="text").set_index("request_id")["text"]
        ready = requests["reply_to"].isna() | requests["reply_to"].isin(replies.index)
        filled = [
            text if pd.isna(before) else _with_reply(text, replies[before])
            for text, before in requests.loc[ready, ["messages", "reply_to"]].itertuples(index=False)
        ]
        asked = requests[ready].assign(messages=filled)
        if len(asked) > known:
            responses, metadata = model.answer(asked, task, store)
    left = requests.loc[~requests["request_id"].isin(asked["request_id"]), "request_id"]
    failed = pd.DataFrame({"request_id": left, "repeat": 0, "status": "failed", "detail": NO_REPLY})
    both = (
        pd.concat([responses, failed.reindex(columns=list(RESPONSE_COLUMNS["generation"]))]) if len(left) else responses
    )
    place = {request_id: number for number, request_id in enumerate(requests["request_id"])}
    return both.sort_values("request_id", key=lambda ids: ids.map(place), kind="stable", ignore_index=True), metadata


def _with_reply(messages: str, reply: str) -> str:
    """``messages`` (JSON) with ``reply`` in the last assistant's message that has no content."""
    turns = json.loads(messages)
    empty = [turn for turn in turns if turn["role"] == "assistant" and not turn["content"]]
    if not empty:
        raise ValueError("a request that goes on from a reply has an assistant's message without content")
    empty[-1]["content"] = reply
    return json.dumps(turns, ensure_ascii=False)
