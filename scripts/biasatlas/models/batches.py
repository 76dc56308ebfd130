"""Requests answered batch by batch, in process: each answer is kept as soon as its batch is there."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.models.shards import Joined, cut, sorted_texts
from biasatlas.models.store import ResponseStore
from biasatlas.progress import Progress

#: Requests that are answered and stored together: what a kill can lose. Of likelihoods and choices no part of a batch is
#: stored, since the rest would then be computed in other company, and differ in its last digits from a run without a kill.
BATCH = 1024
#: Texts come in batches so many times as large, and are stored as they are finished.
TEXTS = 4

#: Positions of requests -> what a model is given of them.
Prepare = Callable[[list[int]], Any]
#: Stores responses to some requests, all of each, before their batch is there.
Keep = Callable[[pd.DataFrame], None]
#: What was prepared -> the responses, and counts of what computing them took.
Solve = Callable[[Any, Keep], tuple[pd.DataFrame, dict]]


def answer_batches(
    request_ids: Sequence[str],
    keys: Sequence[str],
    texts: tuple[Sequence[str], Sequence[str]],
    prepare: Prepare,
    solve: Solve,
    store: ResponseStore | None,
    share: tuple[int, int],
    texts_are_asked: bool = False,
) -> tuple[pd.DataFrame, dict]:
    """The responses to requests, in the order of ``request_ids`` and then by repeat, and what it took.

    Requests with equal ``keys`` are answered once, and those that ``store`` has not at all. Batches are cut where
    neighbouring ``texts`` (their first parts, which many may have in common, and their second) share least; a ``share`` (which, of how
    many) has its batches alone. While one batch is solved, the next is prepared beside it. Of answers that are there a
    table is kept: a dictionary for each would take a kilobyte.
    """
    first: dict[str, int] = {}
    # Of each request, the place of the first that has its key.
    of = np.fromiter((first.setdefault(key, i) for i, key in enumerate(keys)), np.int64, len(keys))
    del first
    # Batches are cut from all requests, whatever the store holds: what is computed together decides the last digits.
    order = sorted_texts(np.unique(of).tolist(), texts)
    part, parts = share
    batches = [
        order[batch] for batch in cut(Joined(texts, order), BATCH * (TEXTS if texts_are_asked else 1), parts)[part]
    ]
    answers: list[pd.DataFrame] = []
    missing: list[list[int]] = []
    if store:
        store.refresh()
    for batch in batches:
        stored = {i: value for i in batch if (value := store.read(keys[i]))} if store else {}
        answers.append(_table(stored))
        missing.append([i for i in batch if i not in stored])
    missing = [left for left in missing if left]
    computed = sum(map(len, missing))
    run: Counter[str] = Counter()
    progress = Progress("requests", computed)
    for left, prepared in zip(missing, _each_ahead(prepare, missing), strict=True):
        names = {request_ids[i]: keys[i] for i in left}

        def keep(responses: pd.DataFrame, names: dict[str, str] = names) -> None:
            if store:
                store.put(_by_key(responses, names))

        with progress.part(len(left)):
            responses, counts = solve(prepared, keep)
        run.update({name: count for name, count in counts.items() if isinstance(count, int)})
        new = _by_key(responses, names)
        if store:
            store.put({key: value for key, value in new.items() if key not in store})
        answers.append(_table({i: new[keys[i]] for i in left}))
    asked = np.flatnonzero(np.isin(of, [i for batch in batches for i in batch]))
    run_of_all = {**run, "requests": len(asked), "computed": computed}
    return _responses(np.asarray(request_ids, object)[asked], of[asked], answers), run_of_all


def _table(answers: Mapping[int, dict]) -> pd.DataFrame:
    """Answers as the store keeps them, a row a response: ``of`` is the place of the request that each is of."""
    rows = [{"of": of} | row for of, value in answers.items() for row in value["responses"]]
    return pd.DataFrame(rows).dropna(axis=1, how="all")  # which has no type yet


def _responses(request_ids: np.ndarray, of: np.ndarray, answers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The responses to requests, each of which has the answer that is ``of`` a place."""
    found = pd.concat(answers) if len(of) else pd.DataFrame({"of": []})
    found = found.sort_values("of", kind="stable")
    begin, end = (found["of"].searchsorted(of, side) for side in ("left", "right"))
    count = end - begin
    rows = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())
    found = found.drop(columns="of").iloc[rows].reset_index(drop=True)
    return found.assign(request_id=np.repeat(request_ids, count))


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
