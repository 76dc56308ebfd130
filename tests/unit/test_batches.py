import threading

import pandas as pd
import pytest

from biasatlas.models import batches


def answered(prepare, solve, texts="abc"):
    names = [f"r{text}" for text in texts]
    rows, _ = batches.answer_batches(names, list(texts), list(texts), prepare, solve, None, (0, 1))
    return rows


def test_a_batch_is_prepared_while_the_one_before_is_solved(monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 1)
    prepared = {at: threading.Event() for at in range(3)}

    def prepare(left):
        prepared[left[0]].set()
        return left[0]

    def solve(at):
        assert at == 2 or prepared[at + 1].wait(10)
        return pd.DataFrame({"request_id": [f"r{'abc'[at]}"], "repeat": 0, "value": at}), {}

    assert [row["value"] for row in answered(prepare, solve)] == [0, 1, 2]


def test_what_cannot_be_prepared_ends_the_job(monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 1)

    def prepare(left):
        return 1 // (left[0] - 1)

    def solve(_):
        return pd.DataFrame({"request_id": ["ra"], "repeat": 0}), {}

    with pytest.raises(ZeroDivisionError):
        answered(prepare, solve)
