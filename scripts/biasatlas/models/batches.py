"""Answer requests in process, batch by batch, and store each batch as soon as it is answered; divide them into shards.

A shard has its batches in the depth-first order of its trie: neighbours stay together.
"""

import bisect
import contextlib
import hashlib
import itertools
import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.errors import UserError
from biasatlas.files import read_metadata, read_responses
from biasatlas.models.claims import Journal
from biasatlas.models.store import ResponseStore
from biasatlas.progress import Progress

#: Requests that are answered and stored together; a killed job loses at most this many. Batches of likelihoods and
#: choices are stored whole: computing the rest of one with other neighbours would change the last digits.
BATCH = 1024
#: Batches of texts are this many times as large; texts are stored before their batch is finished.
TEXTS = 4

#: Seconds after which a job looks again whether another job has answered a batch of its share.
_POLL_S = 0.5

#: Positions of requests -> what the model gets to answer them.
Prepare = Callable[[list[int]], Any]
#: Stores all responses to some requests before their batch is finished.
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
    """The responses to requests, in the order of ``request_ids`` and then by repeat, and counts of what they took.

    Requests with equal ``keys`` are answered once, and those that ``store`` has are not answered again. Batches are cut
    where neighbouring ``texts`` (a first part, which many may have in common, and a second) share least. With a
    ``share`` (which, of how many), only responses to its batches are returned. Jobs that share the folder of a
    ``store`` solve batches that none of them is solving, those of their own share first. While one batch is solved, the
    next is prepared. Answers are held in tables: a dictionary for each would take a kilobyte.
    """
    first: dict[str, int] = {}
    # For each request, the place of the first request with its key.
    of = np.fromiter((first.setdefault(key, i) for i, key in enumerate(keys)), np.int64, len(keys))
    del first
    # Batches are cut from all requests, whatever the store holds: what is computed together decides the last digits.
    order = sorted_texts(np.unique(of).tolist(), texts)
    part, parts = share
    dealt = cut(Joined(texts, order), BATCH * (TEXTS if texts_are_asked else 1), parts)
    own, *others = ([order[batch] for batch in batches] for batches in dealt[part:] + dealt[:part])
    # On object storage jobs do not see one another's claims.
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
    """Yield a function to claim a batch of requests with ``keys`` among a ``store``'s jobs; without a store, any."""
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
    """Yield each batch that this job solves, the requests without an answer (``missing_of``), and what was prepared.

    The first ``own`` batches are yielded in any case; if another job solves one, this job waits for it, since that job
    may end before. A thread prepares the next batch, unless another job is quicker.
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
    """A row for each response in ``answers``, which are as the store keeps them; ``of`` is the place of its request."""
    rows = [{"of": of} | row for of, value in answers.items() for row in value["responses"]]
    return pd.DataFrame(rows).dropna(axis=1, how="all")  # an empty column has no type yet


def _responses(request_ids: np.ndarray, of: np.ndarray, answers: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The responses to requests; ``of`` has, for each request, the place whose answer it gets."""
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
    """Responses by key, as the store keeps them: all those to one request together."""
    stored: dict[str, dict] = {}
    for row in responses.astype(object).where(responses.notna(), None).to_dict("records"):
        stored.setdefault(keys[row.pop("request_id")], {"responses": []})["responses"].append(row)
    return stored


class Joined(Sequence[str]):
    """The ``texts`` at some ``places``, in this order; the two parts of a text are joined when it is read."""

    def __init__(self, texts: tuple[Sequence[str], Sequence[str]], places: Sequence[int]):
        self._texts, self._places = texts, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, at: Any) -> Any:
        first, second = self._texts
        return first[self._places[at]] + second[self._places[at]]


def sorted_texts(places: Sequence[int], texts: tuple[Sequence[str], Sequence[str]]) -> list[int]:
    """``places``, sorted by their ``texts`` (first and second part joined).

    All parts are joined only if one first part is the beginning of another, since joined texts may take gigabytes.
    """
    first, second = texts
    parts = sorted({first[i] for i in places})
    if any(other.startswith(part) for part, other in itertools.pairwise(parts)):
        return sorted(places, key=lambda i: first[i] + second[i])
    return sorted(places, key=lambda i: (first[i], second[i]))


def cut(texts: Sequence[str], size: int, shards: int) -> list[list[slice]]:
    """The batches of each of ``shards``, perhaps none; a batch has at most ``size`` of the sorted ``texts``.

    Sorted texts are the leaves of their trie in depth-first order. That is also the order of their tokens, but for a
    token where two texts part, so texts are not tokenised here. A batch ends in the last quarter of what it may hold,
    where neighbours share the fewest characters. Shards are even parts of all characters that a text does not share
    with the one before (and one for each text); a batch goes whole to the shard that has its middle. What is computed
    together decides the last digits of a number; no batch depends on ``shards``, so neither do the digits.
    """
    shared = np.asarray([0, *itertools.starmap(_common, itertools.pairwise(texts))])
    ends = [0]
    while ends[-1] < len(texts):
        last = ends[-1] + size
        if last < len(texts):
            last -= int(shared[last : last - size // 4 - 1 : -1].argmin())
        ends.append(min(last, len(texts)))
    new = np.asarray([1 + len(text) for text in texts]) - shared[: len(texts)]
    before = np.concatenate([[0], np.cumsum(new)])[ends]
    shard = (before[:-1] + before[1:]) * shards // (2 * before[-1])
    batches = list(itertools.starmap(slice, itertools.pairwise(ends)))
    return [[batches[i] for i in np.flatnonzero(shard == number)] for number in range(shards)]


def _common(a: str, b: str) -> int:
    """Length of the common prefix."""
    return bisect.bisect_left(range(min(len(a), len(b))), True, key=lambda n: a[: n + 1] != b[: n + 1])


def join(
    paths: Sequence[str | os.PathLike], runs: Sequence[str | os.PathLike], task: str, request_ids: Sequence[str]
) -> tuple[pd.DataFrame, dict]:
    """Responses to ``task`` from all shards' files, by ``request_ids``, then repeat; and how they were made.

    ``runs`` are the files with what each shard took; under ``run``, counts are added up and memory is the largest.
    Raises UserError where weights, precision, versions or the like differ between shards, KeyError for a request that
    no shard answered.
    """
    metadata = [read_metadata(path)[task] for path in paths]
    for path, other in zip(paths[1:], metadata[1:], strict=True):
        for name in sorted((metadata[0] | other).keys() - {"engine_reason"}):  # it holds a measured difference
            if metadata[0].get(name) != other.get(name):
                raise UserError(
                    f"{path}: {name} is {other.get(name)!r}, in {paths[0]} it is {metadata[0].get(name)!r}: one "
                    "model's answers must all be made alike. Remove the older of these files and run again."
                )
    taken = [json.loads(Path(run).read_text(encoding="utf-8"))[task] for run in runs]
    run: Counter[str] = Counter()
    for counts in taken:
        run.update(counts)
    run["peak_memory_mib"] = max(counts["peak_memory_mib"] for counts in taken)
    # A shard without answers does not show which kind its rows would have.
    parts = [part for path in paths if len(part := read_responses(path, task))]
    responses = pd.concat(parts).set_index("request_id").loc[list(request_ids)].reset_index()
    return responses, metadata[0] | {"run": dict(run)}
