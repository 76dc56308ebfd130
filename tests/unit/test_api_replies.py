"""Replies as no client should get them: what is an answer, what is none, and what the store may hold of old."""

import json
import math

import pytest
from api_server import MODEL, NO_ANSWERS, ODDITIES, Server, requests_for, said

from biasatlas.models.endpoint import Found
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.replies import NO_TEXT, BadReply, printable, read_reply, stored
from biasatlas.models.store import ResponseStore

GOOD = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5}}


def top(*logprobs, **more):
    tops = [{"token": token, "logprob": logprob} for token, logprob in zip("ABCD", logprobs, strict=False)]
    choice = GOOD["choices"][0] | {"logprobs": {"content": [{"top_logprobs": tops}]}}
    return json.dumps({"choices": [choice]} | more).encode()


def echo(tokens, logprobs):
    return json.dumps({"choices": [{"logprobs": {"tokens": tokens, "token_logprobs": logprobs}}]}).encode()


@pytest.mark.parametrize("content", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer(content):
    if len(content) < 1_000_000:  # what is too long is cut on its way
        with pytest.raises(BadReply):
            read_reply(content, "text")


@pytest.mark.parametrize("odd", ODDITIES.values(), ids=ODDITIES)
def test_an_odd_side_of_an_answer_is_unknown_and_the_answer_kept(odd):
    (record,) = read_reply(json.dumps(GOOD | odd).encode(), "text")
    assert (record["status"], record["text"]) == ("ok", "A")
    assert record["completion_tokens"] is None or "usage" not in odd or odd["usage"]["completion_tokens"] == 3
    assert stored(record) is not None


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), b'{"choices": [], ' + json.dumps(GOOD).encode()[1:]]
)
def test_a_mark_in_front_and_doubled_keys_are_read_over(content):
    assert read_reply(content, "text")[0]["text"] == "A"


@pytest.mark.parametrize(
    "content",
    [
        top(),
        top(math.nan),
        top(900.0),
        top(-9999.0),
        top(-0.1, -0.2),  # together more than 1
        top(-1.0, None),
        b'{"choices": [{"message": {"content": "A"}, "finish_reason": "stop", "logprobs": {"content": []}}]}',
        json.dumps(GOOD).encode(),
    ],
)
def test_top_log_probabilities_that_are_none_are_a_fault(content):
    with pytest.raises(BadReply, match="no top log-probabilities"):
        read_reply(content, "first_token")


def test_a_token_without_a_value_is_left_out():
    assert read_reply(top(-0.5, -1, -9999.0), "first_token")[0]["top"] == [("A", -0.5), ("B", -1.0)]


@pytest.mark.parametrize(
    "content", [echo(["a", "b"], [None]), echo(["a", "b"], [None, None]), echo(["a", "b"], [None, 5]), echo([], [])]
)
def test_log_probabilities_of_a_prompt_that_are_none_are_a_fault(content):
    with pytest.raises(BadReply):
        read_reply(content, "prompt")


@pytest.mark.parametrize(
    ("message", "finish", "status", "detail"),
    [
        ({"content": None, "tool_calls": [{"id": "1"}]}, "tool_calls", "unparseable", NO_TEXT["tool"]),
        ({"content": ""}, "stop", "unparseable", NO_TEXT["empty"]),
        ({"content": None}, "length", "thought", NO_TEXT["thought"]),
        ({"content": "", "reasoning": "Well,"}, "stop", "thought", NO_TEXT["thought"]),
    ],
)
def test_nothing_said_has_a_status_of_its_own_and_says_so(message, finish, status, detail):
    reply = {"choices": [{"message": message, "finish_reason": finish}]}
    (record,) = read_reply(json.dumps(reply).encode(), "text")
    assert (record["status"], record["detail"]) == (status, detail)
    assert stored(record | {"status": "unparseable"})["status"] == status  # as it was stored before


@pytest.mark.parametrize(
    ("usage", "written", "thought"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 3}, 3, None),
        ({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}, 3, None),
        # Gemini counts thinking in the total alone, xAI beside the completion, others within it.
        ({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 52}, 43, 40),
        ({"prompt_tokens": 9, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 40}}, 43, 40),
        ({"completion_tokens": 43, "completion_tokens_details": {"reasoning_tokens": 40}}, 43, 40),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "total_tokens": 52,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            43,
            40,
        ),
        ({"prompt_tokens": 9, "total_tokens": 52}, None, None),
        ({"prompt_tokens": 9, "completion_tokens": 3, "completion_tokens_details": [1], "total_tokens": "x"}, 3, None),
    ],
)
def test_thinking_is_paid_for_wherever_it_is_counted(usage, written, thought):
    reply = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}], "usage": usage}
    (record,) = read_reply(json.dumps(reply).encode(), "text")
    assert (record["completion_tokens"], record.get("thinking_tokens")) == (written, thought)


@pytest.mark.parametrize(
    ("message", "thinking", "text"),
    [
        ({"content": "<think>Is it A?</think>\n\nB"}, "Is it A?", "B"),
        ({"content": "Is it A?</think>\n\nB"}, "Is it A?", "B"),  # the opening mark stands in the prompt
        ({"content": "\n<think>Is it A?"}, "Is it A?", ""),
        ({"content": "[THINK]Is it A?[/THINK]B"}, "Is it A?", "B"),
        ({"content": "B"}, None, "B"),
        ({"content": "B", "reasoning_content": "Is it A?"}, "Is it A?", "B"),
        ({"content": "Use </think> so.", "reasoning": "Is it A?"}, "Is it A?", "Use </think> so."),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Is it A?"}]},
                    {"type": "text", "text": "B"},
                ]
            },
            "Is it A?",
            "B",
        ),
        ({"content": [{"type": "thinking", "thinking": "Is it A?"}, {"type": "text", "text": "B"}]}, "Is it A?", "B"),
    ],
)
def test_thinking_is_kept_beside_the_answer(message, thinking, text):
    reply = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    (record,) = read_reply(reply, "text", thinks=True)
    assert (record.get("thinking"), record["text"]) == (thinking, text)
    assert stored(record)["thinking"] == thinking
    assert record["status"] == ("ok" if text else "thought")


def test_where_no_thinking_is_expected_a_text_is_as_it_came():
    reply = {"choices": [{"message": {"content": "Write </think> at the end."}, "finish_reason": "stop"}]}
    (record,) = read_reply(json.dumps(reply).encode(), "text")
    assert record["text"] == "Write </think> at the end."


def test_good_choices_are_kept_and_tokens_shared_out():
    choices = [*GOOD["choices"] * 2, None, {"message": {"content": 5}}, *GOOD["choices"]]
    reply = json.dumps({"choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 8}}).encode()
    records = read_reply(reply, "text")
    assert [record is None for record in records] == [False, False, True, True, False]
    kept = [record for record in records if record]
    assert [record["prompt_tokens"] for record in kept] == [7, 0, 0]
    assert [record["completion_tokens"] for record in kept] == [3, 3, 2]
    assert [record["choice"] for record in kept] == [0, 1, 2]


OLD = {
    "finish_reason": "stop",
    "prompt_tokens": 5,
    "completion_tokens": 1,
    "served_model": "m",
    "status": "ok",
    "text": "A",
}


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        (OLD, {"status": "ok", "prompt_tokens": 5}),
        (OLD | {"prompt_tokens": 7.5, "served_model": {"name": "m"}}, {"prompt_tokens": None, "served_model": None}),
        (OLD | {"text": ""}, {"status": "unparseable"}),
        (OLD | {"top": [["A", -0.5]]}, {"text": "A"}),
        (OLD | {"top": []}, None),
        (OLD | {"top": [["A", 900.0]]}, None),
        (OLD | {"finish_reason": ["stop"]}, None),
        (OLD | {"text": None}, None),
        ({"status": "ok", "finish_reason": "length", "tokens": ["a"], "logprobs": [None, -1.0]}, None),
        ({}, None),
    ],
)
def test_what_is_stored_of_old(record, kept):
    found = stored(record)
    assert (found is None) == (kept is None)
    assert kept is None or kept.items() <= found.items()


def test_a_poisoned_store_is_healed_by_the_next_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    prompts = ["one", "two", "three"]
    with Server() as server:
        entry = ApiEntry(kind="api", base_url=server.url, model=MODEL, concurrency=1)
        endpoint, store = Endpoint(entry, found=Found()), ResponseStore(tmp_path / "store")
        endpoint.answer(requests_for(prompts), "task", store)
        (shard,) = (tmp_path / "store").glob("*.jsonl")
        keys = [line[25:89].decode() for line in shard.read_bytes().splitlines()]
        shard.unlink()
        store = ResponseStore(tmp_path / "store")
        store.put({keys[0]: OLD | {"status": "odd"}, keys[1]: {"text": 5}, keys[2]: OLD | {"prompt_tokens": -3}})
        frame, metadata = endpoint.answer(requests_for(prompts), "task", ResponseStore(tmp_path / "store"))
        assert server.calls["/chat/completions"] == 5
        again = endpoint.answer(requests_for(prompts), "task", ResponseStore(tmp_path / "store"))
        assert server.calls["/chat/completions"] == 5
    assert frame["text"].tolist() == [said("one"), said("two"), "A"]
    assert metadata["uncounted"] == 1
    assert again[0].equals(frame)


def test_a_key_in_a_reply_is_kept_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ATLAS_CANARY_KEY", "sk-canary-1234567890")
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    with Server(reply=lambda body, prompt: "your key is sk-canary-1234567890!") as server:
        entry = ApiEntry(kind="api", base_url=server.url, model=MODEL, key_env="ATLAS_CANARY_KEY")
        frame, _ = Endpoint(entry, found=Found()).answer(
            requests_for(["one"]), "task", ResponseStore(tmp_path / "store")
        )
    assert frame["text"].tolist() == ["your key is ***!"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"sk-canary" in path.read_bytes()]


def test_a_key_that_is_a_word_changes_no_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ATLAS_OWN_KEY", "EMPTY")
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    with Server(reply=lambda body, prompt: "An EMPTY seat.") as server:
        entry = ApiEntry(kind="api", base_url=server.url, model=MODEL, key_env="ATLAS_OWN_KEY")
        frame, _ = Endpoint(entry, found=Found()).answer(
            requests_for(["one"]), "task", ResponseStore(tmp_path / "store")
        )
    assert frame["text"].tolist() == ["An EMPTY seat."]


def test_what_steers_a_terminal_is_not_shown():
    assert printable("\x1b[31mred\nforged\u202e line\x9b") == " [31mred forged  line "
