"""The response store: nothing acknowledged is lost, nothing torn is read."""

import os
import time

import pytest
from conftest import python
from hypothesis import given, settings
from hypothesis import strategies as st

from biasatlas.columns import REQUEST_COLUMNS
from biasatlas.models.store import ResponseStore, content, key

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def keys(count):
    return [key({"kind": "test"}, {"prompt": index}, 0) for index in range(count)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=5))
def test_what_is_put_is_got(tmp_path_factory, values):
    store = ResponseStore(tmp_path_factory.mktemp("store"))
    stored = dict(zip(keys(len(values)), values, strict=True))
    store.put(stored)
    assert ResponseStore(store.folder).get(keys(10)) == stored


def test_an_empty_or_absent_store_has_nothing(tmp_path):
    assert ResponseStore(tmp_path / "none").get(keys(2)) == {}


def test_every_opening_is_a_shard_of_its_own(tmp_path):
    for index, name in enumerate(keys(3)):
        store = ResponseStore(tmp_path)
        store.put({name: {"n": index}})
        store.close()
    assert len(list(tmp_path.glob("*.jsonl"))) == 3
    assert [value["n"] for value in ResponseStore(tmp_path).get(keys(3)).values()] == [0, 1, 2]


def test_the_older_answer_counts(tmp_path):
    (name,) = keys(1)
    for text in ("first", "second"):
        ResponseStore(tmp_path).put({name: {"text": text}})
    assert ResponseStore(tmp_path).get([name])[name] == {"text": "first"}


def test_a_torn_tail_is_passed_over_at_every_length(tmp_path):
    first, second = keys(2)
    ResponseStore(tmp_path).put({first: {"text": "一"}, second: {"text": "two"}})
    (shard,) = tmp_path.glob("*.jsonl")
    whole = shard.read_bytes()
    start = whole.index(b"\n") + 1
    for length in range(start, len(whole)):
        shard.write_bytes(whole[:length])
        assert ResponseStore(tmp_path).get([first, second]) == {first: {"text": "一"}}


def test_a_damaged_line_is_passed_over(tmp_path):
    names = keys(3)
    ResponseStore(tmp_path).put({name: {"text": "x" * 40} for name in names})
    (shard,) = tmp_path.glob("*.jsonl")
    lines = shard.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"xx", b"xy", 1)
    shard.write_bytes(b"".join(lines))
    assert set(ResponseStore(tmp_path).get(names)) == {names[0], names[2]}


def test_after_a_failed_write_nothing_follows_the_torn_line(tmp_path, monkeypatch):
    first, second = keys(2)
    store = ResponseStore(tmp_path)
    real = os.write

    def half(descriptor, data):
        real(descriptor, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left") as caught:
        store.put({first: {"n": 1}})
    assert caught.value.filename == str(tmp_path)
    monkeypatch.undo()
    store.put({second: {"n": 2}})
    assert ResponseStore(tmp_path).get([first, second]) == {second: {"n": 2}}


WRITER = """
import sys
from biasatlas.models.store import ResponseStore, key
store = ResponseStore(sys.argv[1])
for index in range(10**9):
    store.put({key({}, {"writer": sys.argv[2]}, index): {"n": index}}, sync=False)
    print(index, flush=True)
"""


def test_kill_9_loses_no_acknowledged_answer(tmp_path):
    writers = {}
    for name in ("a", "b", "c"):
        with open(tmp_path / name, "w") as sink:
            writers[name] = python(WRITER, tmp_path / "store", name, stdout=sink)
    while any((tmp_path / name).stat().st_size < 5000 for name in writers):
        assert all(writer.poll() is None for writer in writers.values()), "a writer died"
        time.sleep(0.01)
    for name, writer in writers.items():
        writer.kill()
        writer.wait()
        acknowledged = (tmp_path / name).read_text().count("\n")
        names = [key({}, {"writer": name}, index) for index in range(acknowledged)]
        found = ResponseStore(tmp_path / "store").get(names)
        assert [found[one]["n"] for one in names] == list(range(acknowledged))


ROW = {
    "request_id": "r",
    "item_id": "i",
    "kind": "generation",
    "messages": "[]",
    "prefix": None,
    "continuation": float("nan"),
    "template": "tokenizer",
    "temperature": 1,
    "max_tokens": 16.0,
    "repeats": 3,
    "prompt_type": "own column",
}


def test_a_requests_content_is_typed_and_leaves_out_its_names():
    found = content(ROW)
    assert set(found) == set(REQUEST_COLUMNS) - {"request_id", "item_id", "repeats", "options"}
    assert content(ROW | {"options": '["x"]'})["options"] == '["x"]'  # only where the request has some
    assert found["continuation"] is None
    assert type(found["temperature"]) is float
    assert type(found["max_tokens"]) is int


@pytest.mark.parametrize(
    "same", [{"request_id": "other"}, {"item_id": "j"}, {"repeats": 10}, {"prompt_type": "z"}, {"temperature": 1.0}]
)
def test_what_cannot_change_an_answer_is_not_in_its_key(same):
    assert key({"m": 1}, content(ROW | same), 0) == key({"m": 1}, content(ROW), 0)


@pytest.mark.parametrize("column", sorted(set(REQUEST_COLUMNS) - {"request_id", "item_id", "repeats"}))
def test_everything_else_is(column):
    changed = ROW | {column: 7}
    assert key({"m": 1}, content(changed), 0) != key({"m": 1}, content(ROW), 0)


def test_models_and_repeats_never_share_a_key():
    assert len({key({"m": model}, content(ROW), repeat) for model in "ab" for repeat in range(3)}) == 6


def test_a_key_takes_no_value_that_json_cannot_hold():
    with pytest.raises(ValueError, match="not JSON compliant"):
        key({}, {"temperature": float("nan")}, 0)
