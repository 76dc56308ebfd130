"""One set of requests as batches and shards, in the depth-first order of its trie: neighbours stay together."""

import bisect
import itertools
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biasatlas.errors import UserError
from biasatlas.files import read_metadata, read_responses


class Joined(Sequence[str]):
    """The ``texts`` at some ``places``, in this order; both parts are joined when one is looked at."""

    def __init__(self, texts: tuple[Sequence[str], Sequence[str]], places: Sequence[int]):
        self._texts, self._places = texts, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, at: Any) -> Any:
        first, second = self._texts
        return first[self._places[at]] + second[self._places[at]]


def sorted_texts(places: Sequence[int], texts: tuple[Sequence[str], Sequence[str]]) -> list[int]:
    """``places`` by the ``texts`` that stand there, first and second part joined.

    They are joined all at once only where a first part is the beginning of another one: they may come to gigabytes.
    """
    first, second = texts
    parts = sorted({first[i] for i in places})
    if any(other.startswith(part) for part, other in itertools.pairwise(parts)):
        return sorted(places, key=lambda i: first[i] + second[i])
    return sorted(places, key=lambda i: (first[i], second[i]))


def cut(texts: Sequence[str], size: int, shards: int) -> list[list[slice]]:
    """Batches of at most ``size`` of the sorted ``texts``, dealt out to ``shards``: the batches of each, perhaps none.

    Sorted texts are the leaves of their trie in depth-first order, and so are those of their tokens but for a token
    where two part: nothing is tokenised to be cut. A batch ends in the last quarter of what it may hold, where
    neighbours share the fewest characters, and goes whole to the shard in whose even part its middle lies, counted in
    characters that the text before does not share (and one for each text). What is computed together decides the last
    digits of a number, and no batch depends on ``shards``: so neither do the digits.
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
    """Responses to ``task`` of all shards' files, in the order of ``request_ids``, then repeat; how they were made.

    ``runs`` are the files with what each shard took: under ``run``, counts are added up and memory is the largest.
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
    # A shard without an answer does not say of which kind its rows would be.
    parts = [part for path in paths if len(part := read_responses(path, task))]
    responses = pd.concat(parts).set_index("request_id").loc[list(request_ids)].reset_index()
    return responses, metadata[0] | {"run": dict(run)}
