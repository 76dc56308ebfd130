"""Batches and shards of a set of requests, and joining what the shards answered."""

import random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasatlas.errors import UserError
from biasatlas.files import write_responses
from biasatlas.models.shards import cut, join

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


@pytest.fixture
def files(tmp_path):
    """The files of three shards with two requests, none and one; a text is missing."""
    rows = {1: [("c", 0, "x"), ("c", 1, None), ("a", 0, "y")], 2: [], 3: [("b", 0, "z")]}
    paths = []
    for number, answers in rows.items():
        frame = pd.DataFrame(answers, columns=["request_id", "repeat", "text"]).assign(status="ok", prompt_tokens=3)
        paths.append(tmp_path / f"{number}-of-3" / "task.parquet")
        run = {"requests": len(answers), "peak_memory_mib": 10 * number} | ({"tokens_fed": 7} if answers else {})
        write_responses(frame, paths[-1], "generation", METADATA | {"run": run})
    return paths


def test_shards_join_in_the_order_of_the_requests(files):
    responses, metadata = join(files, ["a", "b", "c"])
    assert responses[["request_id", "repeat"]].to_numpy().tolist() == [["a", 0], ["b", 0], ["c", 0], ["c", 1]]
    assert list(responses["text"][:3]) == ["y", "z", "x"] and pd.isna(responses["text"][3])
    assert metadata == METADATA | {"run": {"requests": 4, "peak_memory_mib": 30, "tokens_fed": 14}}


def test_a_request_without_an_answer_is_never_dropped(files):
    with pytest.raises(KeyError, match="d"):
        join(files, ["a", "b", "c", "d"])


def test_shards_of_different_weights_are_refused(files):
    frame = pd.DataFrame({"request_id": ["b"], "repeat": [0], "status": ["ok"]})
    run = {"run": {"peak_memory_mib": 1}}
    write_responses(frame, files[2], "generation", METADATA | {"weights_sha256": "def"} | run)
    with pytest.raises(UserError, match=r"3-of-3.*weights_sha256 is 'def', in .*1-of-3.*'abc'.*[Rr]emove"):
        join(files, ["a", "b", "c"])
    write_responses(frame, files[2], "generation", METADATA | {"engine_reason": "off by 0.2"} | run)
    assert join(files, ["a", "b", "c"])[1]["engine_reason"] == "off by 0.1"
