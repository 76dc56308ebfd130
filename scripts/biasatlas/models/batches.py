"""Requests answered batch by batch, in process: each answer is kept as soon as its batch is there."""

import contextlib
import hashlib
import itertools
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.errors import UserError
from biasatlas.models.claims import Journal
from biasatlas.models.shards import Joined, cut, sorted_texts
from biasatlas.models.store import ResponseStore
from biasatlas.progress import Progress

#: Requests that are answered and stored together: what a kill can lose. Of likelihoods and choices no part of a batch
#: is stored, since the rest would then be computed in other company, and differ in its last digits from a run without a
#: kill.
BATCH = 1024
#: Texts come in batches so many times as large, and are stored as they are finished.
TEXTS = 4

#: Seconds until a job looks again whether another has answered a batch of its share.
_POLL_S = 0.5

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
    neighbouring ``texts`` (their first parts, which many may have in common, and their second) share least; of a
    ``share`` (which, of how many) are the responses to its batches alone. Jobs that share the folder of a ``store``
    solve whatever batch none of them is at, those of their own share first. While one batch is solved, the next is
    prepared beside it. Of answers that are there a table is kept: a dictionary for each would take a kilobyte.
    """
    first: dict[str, int] = {}
    # Of each request, the place of the first that has its key.
    of = np.fromiter((first.setdefault(key, i) for i, key in enumerate(keys)), np.int64, len(keys))
    del first
    # Batches are cut from all requests, whatever the store holds: what is computed together decides the last digits.
    order = sorted_texts(np.unique(of).tolist(), texts)
    part, parts = share
    dealt = cut(Joined(texts, order), BATCH * (TEXTS if texts_are_asked else 1), parts)
    own, *others = ([order[batch] for batch in batches] for batches in dealt[part:] + dealt[:part])
    # On object storage nobody sees another's claims.
    shared = store if store and not store.objects and parts > 1 else None
    turns = [*own, *itertools.chain(*others)] if shared else own

    def missing_of(batch: list[int]) -> list[int]:
        return [i for i in batch if not (store and keys[i] in store)]

    answers: list[pd.DataFrame] = []
    run: Counter[str] = Counter()
    computed = 0
    with _claims(shared, keys) as claim:
        if store:
            store.refresh()
        left = [(batch, len(missing_of(batch))) for batch in turns]
        progress = Progress("requests", sum(count for _, count in left))
        for batch, missing, prepared in _in_turn(turns, len(own), missing_of, prepare, claim):
            names = {request_ids[i]: keys[i] for i in missing}
            new: dict[str, dict] = {}

            def keep(responses: pd.DataFrame, names: dict[str, str] = names) -> None:
                if store:
                    store.put(_by_key(responses, names))

            if missing:
                with progress.part(len(missing)):
                    responses, counts = solve(prepared, keep)
                run.update({name: count for name, count in counts.items() if isinstance(count, int)})
                new, computed = _by_key(responses, names), computed + len(missing)
                if store:
                    store.put({key: value for key, value in new.items() if key not in store})
            if shared:
                left = [(other, count) for other, count in left if any(keys[i] not in shared for i in other)]
                progress.reach(progress.total - sum(count for _, count in left))
            if batch in own:
                stored = {i: value for i in batch if store and (value := store.read(keys[i]))}
                answers.append(_table(stored | {i: new[keys[i]] for i in missing}))
    asked = np.flatnonzero(np.isin(of, [i for batch in own for i in batch]))
    run_of_all = {**run, "requests": len(asked), "computed": computed}
    return _responses(np.asarray(request_ids, object)[asked], of[asked], answers), run_of_all


#: Whether a batch is this job's for as long as the block lasts.
_Claim = Callable[[list[int]], contextlib.AbstractContextManager[bool]]


@contextlib.contextmanager
def _claims(store: ResponseStore | None, keys: Sequence[str]) -> Iterator[_Claim]:
    """How to claim a batch of requests with ``keys`` among the jobs of a ``store``; without one this job has all."""
    if store is None:
        yield lambda _: contextlib.nullcontext(True)
        return
    journal = Journal(store.folder)

    @contextlib.contextmanager
    def claim(batch: list[int]) -> Iterator[bool]:
        name = hashlib.sha256("".join(keys[i] for i in batch).encode()).hexdigest()
        if not journal.claim(name):
            yield False
            return
        try:
            if journal.is_touched(name):
                store.refresh()
            yield True
        finally:
            journal.release(name)

    try:
        journal.read_claims()
        yield claim
    finally:
        journal.close()


def _in_turn(
    batches: Sequence[list[int]],
    own: int,
    missing_of: Callable[[list[int]], list[int]],
    prepare: Prepare,
    claim: _Claim,
) -> Iterator[tuple[list[int], list[int], Any]]:
    """Batches to solve, and the first ``own`` of them in any case, once they are answered: each with what is
    ``missing_of`` it, prepared.

    A thread prepares what comes next, unless another job is quicker. A batch of its own that another job is at is
    waited for: that job may end before it is answered.
    """
    waiting, tried = deque(enumerate(batches)), set[int]()
    ahead: tuple[list[int], Future] | None = None
    with ThreadPoolExecutor(1) as thread:
        while waiting:
            place, batch = waiting.popleft()
            if place >= own and not missing_of(batch):
                continue
            with claim(batch) as is_ours:
                missing = missing_of(batch)
                if is_ours and missing:
                    if not ahead or ahead[0] != missing:
                        ahead = missing, thread.submit(prepare, missing)
                    prepared = ahead[1].result()
                    following = next(filter(None, (missing_of(other) for _, other in waiting)), None)
                    ahead = (following, thread.submit(prepare, following)) if following else None
                    yield batch, missing, prepared
                elif is_ours and place < own:
                    yield batch, [], None
            if not is_ours and place < own:
                waiting.append((place, batch))
                if place in tried:
                    time.sleep(_POLL_S)
                tried.add(place)


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
    if not count.all():
        raise UserError("the store of answers was damaged while this job ran; run again")
    rows = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())
    found = found.drop(columns="of").iloc[rows].reset_index(drop=True)
    return found.assign(request_id=np.repeat(request_ids, count))


def _by_key(responses: pd.DataFrame, keys: dict[str, str]) -> dict[str, dict]:
    """Responses as the store keeps them: all those to one request together."""
    stored: dict[str, dict] = {}
    for row in responses.astype(object).where(responses.notna(), None).to_dict("records"):
        stored.setdefault(keys[row.pop("request_id")], {"responses": []})["responses"].append(row)
    return stored
