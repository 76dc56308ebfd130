"""The api model kind against a loopback server that speaks the protocol and misbehaves on order."""

import asyncio
import errno
import gc
import json
import logging
import re
import time
from types import SimpleNamespace

import pandas as pd
import pytest
from api_server import FAULTS, MODEL, Server, requests_for, said
from conftest import ROOT

from biasatlas import progress
from biasatlas.benchmarks.shared.parsing.named import PARSERS
from biasatlas.errors import OutOfBudget, UserError
from biasatlas.models.endpoint import Services, send, spending, transport
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.spending import Budget
from biasatlas.models.store import ResponseStore
from biasatlas.progress import Progress


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Short back-offs, and limits of this test's own."""
    monkeypatch.setattr(transport, "BACKOFF_S", 0.01)
    monkeypatch.setattr(send, "POLL_S", 0.01)
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def ask(server, requests, folder, **settings):
    entry = ApiEntry(**{"kind": "api", "base_url": server.url, "model": MODEL, "timeout_s": 1} | settings)
    return Endpoint(entry).answer(requests, "task", ResponseStore(folder))


def test_every_request_is_answered_in_order(tmp_path):
    prompts = [f"prompt {index}" for index in range(20)]
    with Server() as server:
        frame, metadata = ask(server, requests_for(prompts, repeats=2), tmp_path / "store")
    assert list(frame["request_id"]) == [f"r{index}" for index in range(20) for _ in range(2)]
    assert list(frame["repeat"]) == [0, 1] * 20
    assert list(frame["text"]) == [said(prompt) for prompt in prompts for _ in range(2)]
    assert set(frame["status"]) == {"ok"}
    assert {len(times) for times in server.answered.values()} == {2}
    assert metadata["calls"] == 40
    assert metadata["prompt_tokens"] == frame["prompt_tokens"].sum()


def test_what_is_stored_is_not_asked_again(tmp_path):
    requests = requests_for(["one", "two", "two"], repeats=2)
    with Server() as server:
        first = ask(server, requests, tmp_path / "store")
        assert server.calls["/chat/completions"] == 4  # equal requests are one
        again = ask(server, requests, tmp_path / "store")
        assert server.calls["/chat/completions"] == 4
    assert first[0].equals(again[0])
    assert first[1] == again[1]


@pytest.mark.parametrize(
    "changed",
    [
        {"temperature": 0.8},
        {"top_p": 0.9},
        {"frequency_penalty": 0.6},
        {"max_tokens": 17},
        {"messages": '[{"role": "user", "content": "other"}]'},
    ],
)
def test_two_settings_never_share_an_answer(tmp_path, changed):
    with Server() as server:
        ask(server, requests_for(["one"]), tmp_path / "store")
        ask(server, requests_for(["one"], **changed), tmp_path / "store")
        assert server.calls["/chat/completions"] == 2


def test_records_of_another_version_are_asked_for_again(tmp_path, monkeypatch):
    with Server() as server:
        ask(server, requests_for(["one"]), tmp_path / "store")
        monkeypatch.setattr("biasatlas.models.endpoint.calls.ASKED", 2)
        ask(server, requests_for(["one"]), tmp_path / "store")
        assert server.calls["/chat/completions"] == 2


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_is_got_over(tmp_path, kind):
    prompts = [f"{kind} {index}" for index in range(12)]
    with Server(faults=0.3, kinds=(kind,), seed=3) as server:
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store", timeout_s=0.3)
    assert server.met[kind] > 0
    assert list(frame["text"]) == [said(prompt) for prompt in prompts]
    assert {len(times) for times in server.answered.values()} == {1}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("silent", "no whole reply within 0.2 s (`timeout_s`)"),
        ("drip", "no whole reply within 0.2 s"),
        ("503", "503 server_error overloaded"),
        ("reset", "Connection reset by peer"),
        ("truncated", "RemoteProtocolError: "),
        ("garbled", "BadReply: no answer: the reply: Invalid JSON"),
        ("html", "BadReply: no answer: a web page, not JSON"),
        ("empty_choices", "BadReply: no answer: no choice"),
        ("wrong_type", "BadReply: no answer: a choice without a message that can be read"),
    ],
)
def test_after_the_last_attempt_a_call_fails_with_its_reason(tmp_path, kind, reason):
    with Server(faults=1, kinds=(kind,)) as server:
        settings = {"attempts": 2, "timeout_s": 0.2, "max_failed_share": 1}
        frame, metadata = ask(server, requests_for(["one"]), tmp_path / "store", **settings)
        assert server.met[kind] == 2
    assert frame["status"].tolist() == ["failed"]
    assert reason in frame["detail"][0]
    assert metadata["failed"] == 1


@pytest.mark.parametrize(
    ("prompt", "status", "finish"),
    [
        ("FILTER", "filtered", "content_filter"),
        ("CUT", "filtered", "content_filter"),
        ("REFUSE", "refused", "stop"),
        ("LONG", "truncated", "length"),
    ],
)
def test_refusals_and_truncation_are_statuses(tmp_path, prompt, status, finish):
    with Server() as server:
        frame, metadata = ask(server, requests_for([prompt]), tmp_path / "store")
        ask(server, requests_for([prompt]), tmp_path / "store")
        assert server.calls["/chat/completions"] == 1
    assert frame.loc[0, ["status", "finish_reason"]].tolist() == [status, finish]
    assert metadata["failed"] == 0


FILTERS = [
    form
    for form in json.loads((ROOT / "tests/api/forms.json").read_text(encoding="utf-8"))
    if form["kind"] == "filtered"
]


@pytest.mark.parametrize("form", FILTERS, ids=[f"{form['status']}-{place}" for place, form in enumerate(FILTERS)])
def test_a_filter_stops_its_own_prompt_alone(tmp_path, monkeypatch, form):
    """One prompt in fifty, in the form of each service: a row of its own status, asked once, and no end of the job."""
    monkeypatch.setattr(Services, "named", lambda *_: form["service"])
    prompts = [f"{index}" for index in range(49)] + ["FLAGGED"]
    with Server() as server:
        answer = server.answer

        def flagged(path, body):
            return (form["status"], form["body"]) if "FLAGGED" in json.dumps(body) else answer(path, body)

        server.answer = flagged
        slow = {"timeout_s": 30}  # on a busy machine a second is short, and a call is sent again
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store", **slow)
        again, _ = ask(server, requests_for(prompts), tmp_path / "store", **slow)
        assert server.calls["/chat/completions"] == 50
    assert frame["status"].tolist() == ["ok"] * 49 + ["filtered"]
    pd.testing.assert_frame_equal(frame, again)


def test_what_an_endpoint_will_not_answer_is_a_row_and_ends_no_job(tmp_path):
    """Nor when only such requests are left."""
    prompts = [f"{index}" for index in range(30)] + [f"FORBIDDEN {index}" for index in range(25)]
    with Server() as server:
        frame, metadata = ask(server, requests_for(prompts), tmp_path / "store", max_failed_share=0)
        again, _ = ask(server, requests_for(prompts), tmp_path / "store", max_failed_share=0)
    assert frame["status"].tolist() == ["ok"] * 30 + ["failed"] * 25
    assert frame["detail"].iloc[-1] == "403 forbidden Not this prompt"
    assert metadata["failed"] == 25
    pd.testing.assert_frame_equal(frame, again)


def test_a_full_disk_costs_what_was_in_flight_and_no_more(tmp_path, monkeypatch, caplog):
    """Its job ends with the error that jobs tell in a sentence; once there is room, the rest is asked for."""
    prompts, put, kept = [f"{index}" for index in range(60)], ResponseStore.put, []

    def full(store, values, sync=True):
        if len(kept) >= 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        kept.extend(values)
        put(store, values, sync)

    with Server() as server:
        with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
            patched.setattr(ResponseStore, "put", full)
            ask(server, requests_for(prompts), tmp_path / "store", concurrency=4)
        gc.collect()  # tasks whose errors nobody heard say so now
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
        lost = server.calls["/chat/completions"] - 20
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store")
        assert server.calls["/chat/completions"] == 60 + lost and lost <= 4
    assert set(frame["status"]) == {"ok"}


@pytest.mark.parametrize(("jump_s", "said_of_it"), [(3600, "3600 s forward"), (-1800, "1800 s back")])
def test_a_clock_that_jumps_is_one_sentence_and_no_call_twice(tmp_path, monkeypatch, caplog, jump_s, said_of_it):
    """As when a laptop slept, or its clock was set, while calls were in flight."""
    with Server(delay_s=0.3) as server:
        clock = SimpleNamespace(**vars(time))
        clock.time = lambda: time.time() + jump_s * (len(server.answered) >= 10)
        monkeypatch.setattr(send, "time", clock)
        monkeypatch.setattr(spending, "time", clock)
        settings = {"requests_per_minute": 6000, "concurrency": 4}
        frame, _ = ask(server, requests_for([f"{index}" for index in range(60)]), tmp_path / "store", **settings)
        assert server.calls["/chat/completions"] == 60
    assert set(frame["status"]) == {"ok"}
    (warned,) = [record.message for record in caplog.records if "the clock went" in record.message]
    assert said_of_it in warned


BLOCKED = {"index": 0, "message": {"role": "assistant", "content": "Blocked."}, "finish_reason": "guardrail_intervened"}


@pytest.mark.parametrize(
    ("choices", "reason"),
    [([BLOCKED], "nobody knows the finish reason guardrail_intervened"), ([], "no answer: no choice")],
)
def test_a_reply_that_nobody_knows_is_a_row_and_ends_no_job(tmp_path, choices, reason):
    """One prompt in fifty, of a service that nobody has described: never `ok`, and not paid for ten times."""
    prompts = [f"{index}" for index in range(49)] + ["FLAGGED"]
    with Server() as server:
        answer = server.answer

        def flagged(path, body):
            return (200, {"choices": choices}) if "FLAGGED" in json.dumps(body) else answer(path, body)

        server.answer = flagged
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store")
        assert server.calls["/chat/completions"] == 49 + 3
    assert frame["status"].tolist() == ["ok"] * 49 + ["failed"]
    assert frame["detail"].iloc[-1] == f"BadReply: {reason}"


def test_a_filtered_answer_alone_in_its_reply_is_no_sign_of_a_service_without_n(tmp_path):
    """Else each repeat of all prompts behind it would pay for its prompt again."""
    with Server(answers=8) as server:
        answer = server.answer

        def alone(path, body):
            status, reply = answer(path, body)
            return status, reply | {"choices": reply["choices"][:1]} if "CUT" in json.dumps(body) else reply

        server.answer = alone
        requests = requests_for(["CUT", *"abcdefghi"], repeats=4)
        frame, _ = ask(server, requests, tmp_path / "store", concurrency=1)
        assert server.calls["/chat/completions"] == 4 + 9
    assert frame["status"].tolist() == ["filtered"] * 4 + ["ok"] * 36


@pytest.mark.parametrize("count", [3, 200])
def test_an_endpoint_that_answers_nothing_stops_the_job_early(tmp_path, count):
    prompts = [f"FORBIDDEN {index}" for index in range(count)]
    with Server() as server:
        with pytest.raises(UserError, match=r"answers none of \d+ requests \(\d+ x 403 forbidden Not this prompt\)"):
            ask(server, requests_for(prompts), tmp_path / "store", concurrency=4)
        assert server.calls["/chat/completions"] <= 24


def test_a_model_that_only_thinks_stops_the_job_after_its_first_replies(tmp_path):
    prompts = ["one", "two", *(f"PONDER {index}" for index in range(200))]
    with Server() as server:
        with pytest.raises(UserError, match=r"18 of the first 20 replies say nothing \(the model used all.*`thinking:"):
            ask(server, requests_for(prompts), tmp_path / "store", concurrency=4)
        with pytest.raises(UserError, match="18 of the first 20 replies"):  # a second run pays for nothing
            ask(server, requests_for(prompts), tmp_path / "store", concurrency=4)
        assert server.calls["/chat/completions"] <= 24
        frame, metadata = ask(server, requests_for(prompts[:30]), tmp_path / "store", max_failed_share=1)
    assert frame["status"].tolist() == ["ok", "ok", *["thought"] * 28]
    assert metadata["thought"] == 28
    assert metadata["warnings"] == ["of 30 answers 28 are thinking alone: it took all tokens"]


def test_a_thought_without_its_end_stops_the_job_where_no_thinking_was_expected(tmp_path):
    with Server(reply=lambda body, prompt: "<think>Both may be. I would say B") as server:
        with pytest.raises(UserError, match=r"20 of the first 20 replies say nothing \(the model thinks.*no end"):
            ask(server, requests_for(list(map(str, range(200)))), tmp_path / "store", concurrency=4)
        assert server.calls["/chat/completions"] <= 24


def test_work_of_which_nothing_is_done_says_why(monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    Progress("answers", 168).reach(0, "0 failed; the last call: 429 slow down")
    assert caplog.messages == [
        "0 of 168 answers, 0.0 a second, unknown time left, 0 failed; the last call: 429 slow down"
    ]


def test_a_budget_below_one_call_is_too_small(tmp_path):
    with Server() as server:
        with pytest.raises(UserError, match=r"budget of 0\.5 USD is too small \(0\.0000 spent .* may cost \d"):
            ask(server, requests_for(["one"]), tmp_path / "store", budget=0.5, **PRICES)
        assert not server.answered


def test_a_service_that_declines_everything_stops_the_job_after_its_first_questions(tmp_path):
    """Of questions that are asked several times each counts once: one prompt's filter is no sign of another's."""
    prompts = [f"FILTER {index}" if index % 2 else f"REFUSE {index}" for index in range(200)]
    with Server() as server:
        told = "declines all of the first 50 questions .* finish reason .*`max_failed_share: 1`"
        for _ in range(2):  # a second run pays for nothing
            with pytest.raises(UserError, match=told) as error:
                ask(server, requests_for(prompts), tmp_path / "store", concurrency=4)
            refused, filtered = (re.search(rf"(\d+) x {each}", str(error.value)) for each in ("refused", "filtered"))
            assert int(refused[1]) + int(filtered[1]) == 50  # which of them are the first is up to the four in flight
            assert server.calls["/chat/completions"] <= 54
        # What is to be removed once the filter is off is said.
        for path in (tmp_path / "store").glob("*.jsonl"):
            path.unlink()
        frame, _ = ask(server, requests_for(["one", *prompts]), tmp_path / "store", concurrency=1)
        assert len(frame) == 201 and server.calls["/chat/completions"] <= 54 + 201
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store", max_failed_share=1)
    assert set(frame["status"]) == {"filtered", "refused"} and len(frame) == 200


def test_a_limit_of_a_longer_time_stops_the_job_and_not_one_that_passes(tmp_path, monkeypatch):
    monkeypatch.setattr(send, "_PATIENCE_S", 0.5)
    monkeypatch.setattr(spending, "_STOP_S", 0.01)
    with Server() as server:
        answer, began = server.answer, []

        def limited(path, body):
            if "ten random" in str(body) or len(server.answered) < 5 or (began and time.monotonic() > began[0]):
                return answer(path, body)
            return 429, {"error": {"message": "Too many"}}

        server.answer = limited
        prompts = [f"{index}" for index in range(9)]
        with pytest.raises(UserError, match=r"asked for fewer calls for .* answered none: .*It says: 429 Too many$"):
            ask(server, requests_for(prompts), tmp_path / "store", attempts=5, max_failed_share=1, concurrency=1)
        began.append(time.monotonic() + 0.2)  # from when it answers
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store", concurrency=1)
        assert {len(times) for times in server.answered.values()} == {1}
    assert set(frame["status"]) == {"ok"}


@pytest.mark.parametrize("answered", ["before", "in an earlier run", "not yet, of one question"])
def test_a_filter_that_lets_something_pass_ends_no_job(tmp_path, answered):
    prompts, repeats = [f"FILTER {index}" for index in range(60)], 1
    with Server() as server:
        if answered == "before":
            prompts = ["one", *prompts]
        elif answered == "in an earlier run":
            ask(server, requests_for(["one"]), tmp_path / "store")
        else:
            prompts, repeats = ["FILTER", "one"], 60
        frame, _ = ask(server, requests_for(prompts, repeats=repeats), tmp_path / "store", concurrency=1)
    assert frame["status"].value_counts()["filtered"] == 60


@pytest.mark.parametrize("batched", [False, True])
def test_thinking_is_asked_for_kept_and_never_read(tmp_path, batched):
    """With tokens of its own beside those of the answer, which a choice is sampled for."""
    store = ResponseStore(tmp_path / "store")
    with Server(reply=lambda *_: "Perhaps A, or </think>B") as server:
        entry = ApiEntry(
            kind="api", base_url=server.url, model=MODEL, dialect="glm" if batched else "vllm", batch=batched
        )
        plain = entry.model_copy(update={"top_logprobs": 5})
        entry = ApiEntry(**plain.model_dump() | {"thinking": {"budget": 100}, "extra_body": {"safe_prompt": 0}})
        asked = requests_for(["one"], "choice", labels='["A", "B"]', parser="letter", repeats=3)
        frame, metadata = Endpoint(entry, parsers=PARSERS).answer(asked, "task", store)
        sent = (
            [json.loads(line)["body"] for line in next(iter(server.files.values())).splitlines()]
            if batched
            else [body for body in server.bodies if "ten random" not in str(body)]
        )
    assert [body["max_tokens"] for body in sent] == [116] * 3
    asks = {"thinking": {"type": "enabled"}} if batched else {"thinking_token_budget": 100}
    assert all(body.items() >= asks.items() and "logprobs" not in body for body in sent)
    assert json.loads(frame["probabilities"][0]) == [0, 1]
    assert {value["thinking"] for value in store.values()} == {"Perhaps A, or"}
    assert {value["text"] for value in store.values()} == {"B"}
    assert metadata["thinking"] == {"budget": 100, "how": "body"}


def test_a_few_silent_replies_end_no_job(tmp_path):
    prompts = ["one", "two", "three", *(f"PONDER {index}" for index in range(30))]
    with Server() as server:
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store", concurrency=1)
    assert frame["status"].tolist() == ["ok"] * 3 + ["thought"] * 30


def test_a_request_that_the_endpoint_rejects_fails_with_its_reason(tmp_path):
    with Server() as server:
        frame, metadata = ask(server, requests_for(["fine", "INVALID"]), tmp_path / "store", max_failed_share=0.5)
        assert server.calls["/chat/completions"] == 2  # not retried
    assert list(frame["status"]) == ["ok", "failed"]
    assert "Unsupported value" in frame["detail"][1]
    assert metadata["failed"] == 1


def test_too_many_failures_stop_the_job_and_keep_the_answers(tmp_path):
    prompts = [f"{index}" for index in range(30)] + ["DOWN 1", "DOWN 2"]
    with Server() as server:
        with pytest.raises(UserError, match=r"2 of 32 calls failed.*max_failed_share.*4\.0%.*server_error down"):
            ask(server, requests_for(prompts), tmp_path / "store", max_failed_share=0.04, attempts=1)
        ask(server, requests_for(prompts[:30]), tmp_path / "store")
        assert server.calls["/chat/completions"] == 32


def test_a_round_may_fail_as_many_calls_as_asking_everything(tmp_path):
    """One call of the first 30 is more than 1%, and had ended the job; of the 600 that it might come to it is not."""
    requests = requests_for([f"prompt {index}" for index in range(599)] + ["DOWN"])
    with Server() as server:
        entry = ApiEntry(kind="api", base_url=server.url, model=MODEL, attempts=1)
        store, part = ResponseStore(tmp_path / "store"), requests.tail(30)
        with pytest.raises(UserError, match="1 of 30 calls failed"):
            Endpoint(entry).answer(part, "task", store)
        _, metadata = Endpoint(entry).for_rounds(requests).answer(part, "task", store)
    assert metadata["failed"] == 1


def test_a_job_stops_when_an_endpoint_asks_to_wait_for_a_day(tmp_path):
    with (
        Server(faults=1, kinds=("429_retry_after",), retry_after="86400") as server,
        pytest.raises(UserError, match="asks to wait 86400 s"),
    ):
        ask(server, requests_for(["one"]), tmp_path / "store")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "150"}, 150),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "20", "retry-after": "1"}, 0.02),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, 0),
        ({"retry-after": "Mon, 99 Foo 2026 25:61:61 +9999"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "-5"}, 0),
    ],
)
def test_retry_after(headers, seconds):
    assert transport.retry_after_s(headers) == seconds


def test_retry_after_holds_back_every_request(tmp_path):
    prompts = [f"{index}" for index in range(8)]
    with Server(faults=1, kinds=("429_retry_after",), retry_after="0.6") as server:
        original = server._fault

        async def first_only(*arguments):
            server.faults = 0
            return await original(*arguments)

        server._fault = first_only
        ask(server, requests_for(prompts), tmp_path / "store", concurrency=1)
    assert server.arrivals[1] - server.arrivals[0] >= 0.6


def test_a_retry_after_above_two_minutes_is_kept(tmp_path, monkeypatch):
    slept, real = [], asyncio.sleep

    async def short(seconds):
        slept.append(seconds)
        await real(0)

    with Server(faults=1, kinds=("429_retry_after",), retry_after="150") as server:
        original = server._fault

        async def first_only(*arguments):
            server.faults = 0
            return await original(*arguments)

        server._fault = first_only
        monkeypatch.setattr(asyncio, "sleep", short)
        monkeypatch.setattr(spending, "time", SimpleNamespace(time=lambda: 1e9 + sum(slept)))
        frame, _ = ask(server, requests_for(["one"]), tmp_path / "store")
    assert frame["status"].tolist() == ["ok"]
    assert 120 < max(slept) <= 150


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        ("openai", {"max_completion_tokens": 16}),
        ("compatible", {"max_tokens": 16}),
        ("vllm", {"max_tokens": 16, "top_k": -1, "repetition_penalty": 1.0, "min_p": 0.0}),
        ("llama.cpp", {"max_tokens": 16, "top_k": 0, "repeat_penalty": 1.0, "min_p": 0.0}),
    ],
)
def test_every_setting_is_sent(tmp_path, dialect, sent):
    with Server() as server:
        ask(server, requests_for(["one"]), tmp_path / "store", dialect=dialect, extra_body={"thinking": False})
    messages = [{"role": "user", "content": "one"}]
    usual = {"model": MODEL, "temperature": 0.7, "top_p": 1.0, "frequency_penalty": 0.0, "thinking": False}
    assert server.bodies == [usual | {"messages": messages} | sent]


def test_a_system_message_can_go_before_the_users(tmp_path):
    messages = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}])
    with Server() as server:
        ask(server, requests_for(["one"], messages=messages), tmp_path / "store", system="user")
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "Be brief.\n\nHello"}]


NONE_LEFT = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining-tokens": "5"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset-requests": "6ms"} | NONE_LEFT, 0.006),
        ({"x-ratelimit-reset-requests": "1m2s"} | NONE_LEFT, 60),  # of which some is back before
        ({"x-ratelimit-reset-requests": "7.5"} | NONE_LEFT, 7.5),
        ({"x-ratelimit-reset-requests": "7s", "x-ratelimit-reset-tokens": "30s"} | NONE_LEFT, 7),
        ({"x-ratelimit-reset-requests": "7s", "retry-after": "2"} | NONE_LEFT, 2),
        ({"x-ratelimit-reset-requests": "7s", "x-ratelimit-remaining-requests": "-1"}, 0),  # Azure's word for unknown
        ({"x-ratelimit-reset-requests": "-1"} | NONE_LEFT, 0),
        ({"x-ratelimit-reset-requests": "soon"} | NONE_LEFT, 0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2001-09-09T01:46:50Z",
                "anthropic-ratelimit-requests-remaining": "0",
            },
            10,
        ),
        (
            {
                "anthropic-ratelimit-requests-reset": "2001-09-09T01:46:30Z",
                "anthropic-ratelimit-requests-remaining": "0",
            },
            0,
        ),
        ({}, 0),
    ],
)
def test_what_is_used_up_is_waited_for(monkeypatch, headers, seconds):
    monkeypatch.setattr(transport.time, "time", lambda: 1e9)
    assert transport.asked_wait_s(headers) == pytest.approx(seconds)


PRICES = {"price_input_per_million": 1e6, "price_output_per_million": 1e6}  # one a token


def test_the_plan_is_logged_before_the_first_call(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with Server() as server:
        ask(server, requests_for(["one", "two"]), tmp_path / "store", **PRICES)
    plan = caplog.messages[0]
    assert "2 answers, 0 of them in the store. The rest: 2 calls" in plan
    assert "about 34 prompt tokens, at most 32 completion tokens, 66.0000 USD" in plan


def test_more_answers_than_were_asked_for_are_counted(tmp_path):
    """One of them is kept, and all are charged."""

    class Generous(Server):
        def answer(self, path, body):
            return super().answer(path, body | {"n": 5})

    with Generous(answers=5) as server:
        ask(server, requests_for(["one"]), tmp_path / "store", n=1, **PRICES)
    usage = 3 + 5 * len(said("one"))
    assert Budget(tmp_path / "store", None).spent == pytest.approx(usage)


def test_a_budget_is_never_exceeded_and_what_was_paid_for_is_kept(tmp_path):
    prompts = [f"{index:04}" for index in range(50)]
    with Server(delay_s=0.01) as server:
        with pytest.raises(UserError, match=r"budget of 300.0 USD is used up"):
            ask(server, requests_for(prompts), tmp_path / "store", budget=300.0, **PRICES)
        first = len(server.answered)
        spent = sum(len(prompt) + len(said(prompt)) for prompt in server.answered)
        assert 0 < first < 50
        assert 300 - 34 < spent <= 300  # 34 is the most that a call may come to by the estimate
        with pytest.raises(OutOfBudget, match="used up"):  # the budget is the model's, not the run's
            ask(server, requests_for(prompts), tmp_path / "store", budget=300.0, **PRICES)
        assert len(server.answered) == first
        _, metadata = ask(server, requests_for(prompts), tmp_path / "store", budget=3000.0, **PRICES)
        assert {len(times) for times in server.answered.values()} == {1}
    assert metadata["cost"] == 50 * (4 + 11)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"key_env": "ATLAS_NO_SUCH_KEY"}, r"environment variable ATLAS_NO_SUCH_KEY \(`key_env`\) is not set"),
        ({"base_url": "http://127.0.0.1:9/v1"}, r"127\.0\.0\.1:9/v1 cannot be reached"),
        ({"base_url": "http://no-such-host.invalid/v1"}, "cannot be reached"),
        ({"model": "lopback"}, r"unknown `model`.*It lists: loopback"),
        ({"key_env": "ATLAS_WRONG_KEY"}, "does not accept the key in ATLAS_WRONG_KEY"),
        ({}, r"does not accept a call without a key: .*`key_env`"),
    ],
)
def test_an_entry_that_cannot_work_fails_before_any_call(tmp_path, monkeypatch, settings, message):
    monkeypatch.setenv("ATLAS_WRONG_KEY", "wrong")
    monkeypatch.setenv("ATLAS_RIGHT_KEY", "right")
    settings = {"key_env": "ATLAS_RIGHT_KEY"} | settings if "model" in settings else settings
    with Server(key="right") as server, pytest.raises(UserError, match=message):
        ask(server, requests_for(["one"]), tmp_path / "store", **settings)
    assert not server.answered


@pytest.mark.parametrize(
    "bad",
    [
        {"base_url": "host/v1"},
        {"base_url": "http://user:secret@host/v1"},
        {"base_url": "http://host/v1?key=secret"},
        {"key_env": "sk-abc"},
        {"requests_per_minute": 0},
        {"concurency": 4},
    ],
)
def test_an_entry_is_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ApiEntry(**{"kind": "api", "base_url": "http://host/v1", "model": "m"} | bad)


def test_every_key_of_an_entry_is_described():
    assert all(field.description.endswith(".") for field in ApiEntry.model_fields.values())
