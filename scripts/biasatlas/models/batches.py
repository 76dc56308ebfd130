"""Requests answered batch by batch, in process: each answer is kept as soon as its batch is there."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pandas as pd

from biasatlas.models.shards import cut
from biasatlas.models.store import ResponseStore
from biasatlas.progress import Progress

#: Requests that are answered and stored together: what a kill can lose. A part of a batch is never stored, however long the
#: batch takes: the rest would then be computed in other company, and differ in its last digits from a run without a kill.
BATCH = 4096

#: Positions of requests -> what a model is given of them.
Prepare = Callable[[list[int]], Any]
#: What was prepared -> the responses, and counts of what computing them took.
Solve = Callable[[Any], tuple[pd.DataFrame, dict]]


def answer_batches(
    request_ids: Sequence[str],
    keys: Sequence[str],
    texts: Sequence[str],
    prepare: Prepare,
    solve: Solve,
    store: ResponseStore | None,
    share: tuple[int, int],
) -> tuple[list[dict], dict]:
    """The responses to requests as records, in the order of ``request_ids`` and then by repeat, and what it took.

    Requests with equal ``keys`` are answered once, and those that ``store`` has not at all. Batches are cut where
    neighbouring ``texts`` share least; a ``share`` (which, of how many) has its batches alone. While one batch is solved,
    the next is prepared beside it.
    """
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    # Batches are cut from all requests, whatever the store holds: what is computed together decides the last digits.
    order = sorted(first.values(), key=texts.__getitem__)
    part, parts = share
    batches = [order[batch] for batch in cut([texts[i] for i in order], BATCH, parts)[part]]
    wanted = {keys[i] for batch in batches for i in batch}
    answers = store.get(wanted) if store else {}
    missing = [left for batch in batches if (left := [i for i in batch if keys[i] not in answers])]
    computed = sum(map(len, missing))
    run: Counter[str] = Counter()
    progress = Progress("requests", computed)
    for left, prepared in zip(missing, _each_ahead(prepare, missing), strict=True):
        with progress.part(len(left)):
            responses, counts = solve(prepared)
        run.update({name: count for name, count in counts.items() if isinstance(count, int)})
        new = _by_key(responses, {request_ids[i]: keys[i] for i in left})
        if store:
            store.put(new)
        answers |= new
    asked = [(request_id, key) for request_id, key in zip(request_ids, keys, strict=True) if key in wanted]
    rows = [{"request_id": request_id} | row for request_id, key in asked for row in answers[key]["responses"]]
    return rows, {**run, "requests": len(asked), "computed": computed}


def _each_ahead(prepare: Prepare, batches: Iterable[list[int]]) -> Iterator[Any]:
    """What ``prepare`` makes of each batch: in a thread, which is one batch ahead of the caller."""
    with ThreadPoolExecutor(1) as thread:
        waiting: Future | None = None
        for batch in batches:
            following = thread.submit(prepare, batch)
            if waiting:
                yield waiting.result()
            waiting = following
        if waiting:
            yield waiting.result()


def _by_key(responses: pd.DataFrame, keys: dict[str, str]) -> dict[str, dict]:
    """Responses as the store keeps them: all those to one request together."""
    stored: dict[str, dict] = {}
    for row in responses.astype(object).where(responses.notna(), None).to_dict("records"):
        stored.setdefault(keys[row.pop("request_id")], {"responses": []})["responses"].append(row)
    return stored
