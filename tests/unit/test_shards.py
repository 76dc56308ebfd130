"""Batches and shards of a set of requests, and joining what the shards answered."""

import random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasatlas.columns import RESPONSE_COLUMNS
from biasatlas.errors import UserError
from biasatlas.files import write_responses
from biasatlas.models.batches import cut, join

METADATA = {"weights_sha256": "abc", "engine": "tree", "engine_reason": "off by 0.1"}


def flat(shards):
    return [batch for batches in shards for batch in batches]


def stories(stems, endings):
    """Sorted texts that share long stems: a trie whose widest gaps are known."""
    rng = random.Random(1)
    names = [f"{rng.randrange(16**8):08x} was asked again and again who had said it: " for _ in range(stems)]
    return sorted(f"{name}{number:03d} they said." for name in names for number in range(endings))


@given(
    st.lists(st.text("ab", max_size=6)).map(sorted),
    st.integers(min_value=1, max_value=9),
    st.integers(min_value=1, max_value=6),
)
def test_every_text_is_in_one_batch_of_one_shard(texts, size, shards):
    dealt = cut(texts, size, shards)
    assert len(dealt) == shards
    assert [i for batch in flat(dealt) for i in range(len(texts))[batch]] == list(range(len(texts)))
    assert all(0 < batch.stop - batch.start <= size for batch in flat(dealt))
    assert flat(dealt) == cut(texts, size, 1)[0]  # batches do not depend on the number of shards


def test_batches_end_where_neighbours_share_least():
    texts = stories(stems=40, endings=25)
    ends = [batch.stop for batch in cut(texts, 120, 1)[0]]
    assert len(ends) == 10
    assert all(end % 25 == 0 for end in ends)  # between two stems
    assert all(texts[end - 1][:3] != texts[end][:3] for end in ends[:-1])


def test_shards_are_even_in_what_they_share_with_nobody():
    texts = [f"{number:04d}" + "x" * (number % 50) for number in range(4000)]
    dealt = cut(texts, 16, 7)
    sizes = [sum(len(text) for batch in batches for text in texts[batch]) for batches in dealt]
    largest = max(sum(map(len, texts[batch])) for batch in flat(dealt))
    assert max(sizes) - min(sizes) <= 2 * largest
    # Where one text is long and the others are short, the long one weighs.
    few = cut(["a" * 1000, *(f"b{number}" for number in range(99))], 10, 2)
    assert [sum(batch.stop - batch.start for batch in batches) for batches in few] == [10, 90]


def responses(answers):
    frame = pd.DataFrame(answers, columns=["request_id", "repeat", "text"])
    return frame.assign(status="ok", detail="", finish_reason="stop", prompt_tokens=3, completion_tokens=2)


def likelihoods(number):
    row = {"request_id": f"o{number}", "repeat": 0, "status": "ok", "detail": "", "log_likelihood": -1.5 * number}
    return pd.DataFrame([row | {"tokens": number, "nll_per_token": 1.5}])


@pytest.fixture
def files(tmp_path):
    """The files of three shards with two requests of a task, none and one, a text is missing; and with another task."""
    rows = {1: [("c", 0, "x"), ("c", 1, None), ("a", 0, "y")], 2: [], 3: [("b", 0, "z")]}
    paths = []
    for number, answers in rows.items():
        frame = responses(answers)
        paths.append(tmp_path / f"{number}-of-3.parquet")
        run = {"requests": len(answers), "peak_memory_mib": 10 * number} | ({"tokens_fed": 7} if answers else {})
        other = {"run": {"requests": 1, "peak_memory_mib": 1}}
        parts = {
            "task": (frame, "generation", METADATA | {"run": run}),
            "other": (likelihoods(number), "likelihood", other),
        }
        write_responses(parts, paths[-1], paths[-1].with_suffix(".json"))
    return paths, [path.with_suffix(".json") for path in paths]


def test_shards_join_in_the_order_of_the_requests(files):
    joined, metadata = join(*files, "task", ["a", "b", "c"])
    assert list(joined.columns) == list(RESPONSE_COLUMNS["generation"])
    assert joined[["request_id", "repeat"]].to_numpy().tolist() == [["a", 0], ["b", 0], ["c", 0], ["c", 1]]
    assert list(joined["text"][:3]) == ["y", "z", "x"] and pd.isna(joined["text"][3])
    assert metadata == METADATA | {"run": {"requests": 4, "peak_memory_mib": 30, "tokens_fed": 14}}


def test_each_task_is_joined_apart(files):
    joined, metadata = join(*files, "other", ["o3", "o1", "o2"])
    assert list(joined.columns) == list(RESPONSE_COLUMNS["likelihood"])
    assert joined["log_likelihood"].tolist() == [-4.5, -1.5, -3.0]
    assert metadata == {"run": {"requests": 3, "peak_memory_mib": 1}}


def test_a_request_without_an_answer_is_never_dropped(files):
    with pytest.raises(KeyError, match="d"):
        join(*files, "task", ["a", "b", "c", "d"])


def test_shards_of_different_weights_are_refused(files):
    frame, run = responses([("b", 0, "z")]), {"run": {"peak_memory_mib": 1}}
    write_responses({"task": (frame, "generation", METADATA | {"weights_sha256": "def"} | run)}, files[0][2])
    with pytest.raises(UserError, match=r"3-of-3.*weights_sha256 is 'def', in .*1-of-3.*'abc'.*[Rr]emove"):
        join(*files, "task", ["a", "b", "c"])
    write_responses({"task": (frame, "generation", METADATA | {"engine_reason": "off by 0.2"} | run)}, files[0][2])
    assert join(*files, "task", ["a", "b", "c"])[1]["engine_reason"] == "off by 0.1"
