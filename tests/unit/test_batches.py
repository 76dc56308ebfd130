import threading

import pandas as pd
import pytest

from biasatlas.models import batches, shards
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
        assert shards.sorted_texts(list(places), (first, second)) == sorted(places, key=whole.__getitem__)
    assert list(shards.Joined((first, second), [5, 0, 1])) == ["a", "bx", "ac"]


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
