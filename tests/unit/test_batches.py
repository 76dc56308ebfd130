"""Batches: prepared ahead, stored as they come, and shared by jobs."""

import hashlib
import heapq
import random
import threading
from collections import Counter

import pandas as pd
import pytest

from biasatlas import progress
from biasatlas.models import batches
from biasatlas.models.store import ResponseStore


def answered(prepare, solve, texts="abc"):
    names = [f"r{text}" for text in texts]
    rows, _ = batches.answer_batches(names, list(texts), ([""] * len(names), texts), prepare, solve, None, (0, 1))
    return rows


def test_a_batch_is_prepared_while_the_one_before_is_solved(monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 1)
    prepared = {at: threading.Event() for at in range(3)}

    def prepare(left):
        prepared[left[0]].set()
        return left[0]

    def solve(at, keep):
        assert at == 2 or prepared[at + 1].wait(10)
        return pd.DataFrame({"request_id": [f"r{'abc'[at]}"], "repeat": 0, "value": at}), {}

    assert answered(prepare, solve)["value"].tolist() == [0, 1, 2]


def test_what_cannot_be_prepared_ends_the_job(monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 1)

    def prepare(left):
        return 1 // (left[0] - 1)

    def solve(*_):
        return pd.DataFrame({"request_id": ["ra"], "repeat": 0}), {}

    with pytest.raises(ZeroDivisionError):
        answered(prepare, solve)


def test_places_are_sorted_by_the_whole_text():
    first = ["b", "a", "", "b", "", "a"]
    second = ["x", "c", "bx", "a", "ab", ""]
    whole = [one + other for one, other in zip(first, second, strict=True)]
    for places in (range(6), [0, 1, 3, 5]):  # with a first part that others begin with, and without
        assert batches.sorted_texts(list(places), (first, second)) == sorted(places, key=whole.__getitem__)
    assert list(batches.Joined((first, second), [5, 0, 1])) == ["a", "bx", "ac"]


def test_requests_with_one_key_have_its_answers_each_in_the_order_of_repeats(tmp_path):
    keys = [letter * 64 for letter in "abca"]

    def solve(left, keep):
        ids = [f"r{at}" for at in left for _ in range(2)]
        return pd.DataFrame(
            {"request_id": ids, "repeat": [0, 1] * len(left), "text": ids, "number": [None, 1] * len(left)}
        ), {}

    def answers(store):
        ids = ["r0", "r1", "r2", "r3"]
        return batches.answer_batches(ids, keys, ([""] * 4, list("abca")), list, solve, store, (0, 1))

    store = ResponseStore(tmp_path)
    found, run = answers(store)
    assert found["request_id"].tolist() == ["r0", "r0", "r1", "r1", "r2", "r2", "r3", "r3"]
    assert found["text"].tolist() == ["r0", "r0", "r1", "r1", "r2", "r2", "r0", "r0"]
    assert found["repeat"].tolist() == [0, 1] * 4 and run == {"requests": 4, "computed": 3}
    again, run = answers(ResponseStore(tmp_path))
    pd.testing.assert_frame_equal(found, again)
    assert run["computed"] == 0


def test_what_is_kept_of_a_batch_outlives_it(tmp_path):
    names = ["ra", "rb", "rc"]

    def table(places):
        return pd.DataFrame({"request_id": [names[at] for at in places], "repeat": 0, "text": "x"})

    def answers(solve):
        keys = [letter * 64 for letter in "abc"]
        return batches.answer_batches(
            names, keys, ([""] * 3, list("abc")), list, solve, ResponseStore(tmp_path), (0, 1)
        )

    def ended(left, keep):
        keep(table(left[:2]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answers(ended)
    found, run = answers(lambda left, keep: (table(left), {}))
    assert run == {"requests": 3, "computed": 1} and found["request_id"].tolist() == names


def test_texts_come_in_larger_batches(monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 2)
    sizes = []

    def solve(left, keep):
        sizes.append(len(left))
        return pd.DataFrame({"request_id": [f"r{at}" for at in left], "repeat": 0}), {}

    names = [f"r{at}" for at in range(8)]
    for texts_are_asked in (False, True):
        keys, texts = [str(at) for at in range(8)], ([""] * 8, list("abcdefgh"))
        batches.answer_batches(names, keys, texts, list, solve, None, (0, 1), texts_are_asked)
    assert sizes == [2, 2, 2, 2, 8]


class Clock:
    """A time of their own for threads: one runs at once, and where all sleep it is the time at which the next is due."""

    def __init__(self, threads):
        self.now, self._awake, self._due, self._turn = 0.0, threads, [], threading.Lock()

    def sleep(self, seconds):
        woken = threading.Event()  # of its own, since to wake all for one takes most of the time of 64
        with self._turn:
            heapq.heappush(self._due, (self.now + seconds, threading.get_ident(), woken))
            self._end()
        woken.wait()

    def end(self):
        with self._turn:
            self._end()

    def _end(self):
        self._awake -= 1
        if not self._awake and self._due:
            self.now, _, woken = heapq.heappop(self._due)
            self._awake = 1
            woken.set()


def shared_out(monkeypatch, folder, speeds, requests, batch, late=None, dies=None):
    """Requests that jobs of some ``speeds`` share: seconds that all took, what each wrote, and how often each request was solved.

    One starts ``late`` (which, when); one ``dies`` (which, in its how-manieth batch).
    """
    monkeypatch.setattr(batches, "BATCH", batch)
    monkeypatch.setattr(progress, "SECONDS", float("inf"))
    clock, rng, solved, written = Clock(len(speeds)), random.Random(1), Counter(), {}
    monkeypatch.setattr(batches.time, "sleep", clock.sleep)
    keys = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(requests)]
    texts = [""] * requests, [f"{number:06d}" + "x" * rng.randrange(60) for number in range(requests)]
    names = [f"r{number}" for number in range(requests)]

    def work(job):
        turn = 0

        def solve(left, keep):
            nonlocal turn
            turn += 1
            clock.sleep(sum(len(texts[1][at]) for at in left) / speeds[job])
            if dies == (job, turn):
                raise KeyboardInterrupt
            solved.update(left)
            return pd.DataFrame({"request_id": [names[at] for at in left], "repeat": 0, "text": "x"}), {}

        try:
            if late and late[0] == job:
                clock.sleep(late[1])
            store = ResponseStore(folder / "store")
            rows, run = batches.answer_batches(names, keys, texts, list, solve, store, (job, len(speeds)))
            written[job] = rows["request_id"].tolist(), run, clock.now
        except KeyboardInterrupt:
            pass
        finally:
            clock.end()

    jobs = [threading.Thread(target=work, args=(job,)) for job in range(len(speeds))]
    for thread in jobs:
        thread.start()
    for thread in jobs:
        thread.join()
    ideal = sum(map(len, texts[1])) / sum(speeds)
    return ideal, written, solved


@pytest.mark.parametrize("jobs", [2, 8, 64])
def test_equal_jobs_share_the_work_evenly_also_with_a_slow_one(monkeypatch, tmp_path, jobs):
    speeds = [0.7] + [1.0] * (jobs - 1)
    ideal, written, solved = shared_out(monkeypatch, tmp_path, speeds, 320 * jobs, 8)
    assert set(solved.values()) == {1} and len(solved) == 320 * jobs
    assert sorted(name for names, *_ in written.values() for name in names) == sorted(
        f"r{i}" for i in range(320 * jobs)
    )
    assert ideal / max(ended for *_, ended in written.values()) >= 0.98


def test_a_job_that_dies_costs_what_it_was_at(monkeypatch, tmp_path):
    _, written, solved = shared_out(monkeypatch, tmp_path, [1.0] * 3, 120, 4, dies=(1, 3))
    assert set(solved.values()) == {1} and len(solved) == 120 and set(written) == {0, 2}
    _, again, solved = shared_out(monkeypatch, tmp_path, [1.0] * 3, 120, 4)
    assert not solved and sum(len(names) for names, *_ in again.values()) == 120


def test_a_job_that_comes_late_finds_its_share_done(monkeypatch, tmp_path):
    ideal, written, _ = shared_out(monkeypatch, tmp_path, [1.0] * 4, 160, 4, late=(2, 1e9))
    assert written[2][1] == {"requests": len(written[2][0]), "computed": 0} and written[2][0]
    assert max(written[job][2] for job in (0, 1, 3)) < 1.1 * ideal * 4 / 3
