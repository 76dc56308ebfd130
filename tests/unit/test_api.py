"""The api model kind against a loopback server that speaks the protocol and misbehaves on order."""

import asyncio
import json
import logging
import math

import pytest
from api_server import FAULTS, MODEL, Server, requests_for, said, token_logprob

from biasatlas.errors import UserError
from biasatlas.models.endpoint import api, probe as endpoint, replies
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Short back-offs, and limits of this test's own."""
    monkeypatch.setattr(endpoint, "BACKOFF_S", 0.01)
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def letter(text, labels, complete):
    """A reader of the library's kind: the label that the reply begins with; "I" begins a refusal."""
    if not text:
        return "unparseable" if complete else None
    for index in sorted(range(len(labels)), key=lambda index: -len(labels[index])):
        if text.startswith(labels[index]):
            grows = any(label != text and label.startswith(text) for label in labels)
            return None if not complete and (text == labels[index] or grows) else index
    return "refused" if text.startswith("I") else "unparseable"


def ask(server, requests, folder, **settings):
    entry = ApiEntry(**{"base_url": server.url, "model": MODEL, "timeout_s": 1} | settings)
    return api.answer(requests, entry, store=ResponseStore(folder), readers={"letter": letter})


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
        ("silent", "no whole reply within 0.2 s"),
        ("drip", "no whole reply within 0.2 s"),
        ("503", "503 server_error overloaded"),
        ("reset", "Error: "),
        ("truncated", "RemoteProtocolError: "),
        ("garbled", "JSONDecodeError: "),
        ("html", "JSONDecodeError: "),
        ("empty_choices", "BadReply: a reply without an answer"),
        ("wrong_type", "BadReply: a reply whose content is no text"),
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
        ("FILTER", "refused", "content_filter"),
        ("CUT", "refused", "content_filter"),
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


@pytest.mark.parametrize(
    ("status", "words", "refused"),
    [
        (400, "400 content_filter The response was filtered", True),  # OpenAI, Azure
        (400, "400 1301 系统检测到输入或生成内容可能包含不安全或敏感内容", True),  # Zhipu
        (400, '400 {"error": {"code": "1301", "message": "..."}}', True),  # the same in a batch
        (400, "400 data_inspection_failed Input data may contain inappropriate content.", True),  # DashScope
        (400, "400 invalid_request_error Content Exists Risk", True),  # DeepSeek
        (400, "400 context_length_exceeded at most 1301 tokens", False),
        (500, "500 content_filter is down", False),
    ],
)
def test_the_filters_of_services_are_recognised(status, words, refused):
    assert bool(replies.filtered(status, words)) == refused


def test_a_request_that_the_endpoint_rejects_fails_with_its_reason(tmp_path):
    with Server() as server:
        frame, metadata = ask(server, requests_for(["fine", "INVALID"]), tmp_path / "store", max_failed_share=0.5)
        assert server.calls["/chat/completions"] == 2  # not retried
    assert list(frame["status"]) == ["ok", "failed"]
    assert "Unsupported value" in frame["detail"][1]
    assert metadata["failed"] == 1


def test_too_many_failures_stop_the_job_and_keep_the_answers(tmp_path):
    prompts = [f"{index}" for index in range(30)] + ["INVALID 1", "INVALID 2"]
    with Server() as server:
        with pytest.raises(UserError, match=r"2 of 32 calls failed.*max_failed_share.*4\.0%.*Unsupported value"):
            ask(server, requests_for(prompts), tmp_path / "store", max_failed_share=0.04)
        ask(server, requests_for(prompts[:30]), tmp_path / "store")
        assert server.calls["/chat/completions"] == 32


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
    ],
)
def test_retry_after(headers, seconds):
    assert endpoint.retry_after_s(headers) == seconds


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
        frame, _ = ask(server, requests_for(["one"]), tmp_path / "store")
    assert frame["status"].tolist() == ["ok"]
    assert 149 < max(slept) <= 150


def test_a_choice_is_the_shares_of_its_samples(tmp_path):
    answers = iter("AABXA")
    requests = requests_for(["which?"], "choice", labels='["A", "B"]', reader="letter", repeats=5)
    with Server(reply=lambda body, prompt: next(answers)) as server:
        frame, _ = ask(server, requests, tmp_path / "store", concurrency=1)
    assert json.loads(frame["probabilities"][0]) == [0.6, 0.2]
    assert frame.loc[0, ["refused", "unparseable", "unresolved"]].tolist() == [0, 0.2, 0]
    assert frame["status"].tolist() == ["ok"]


def test_samples_and_texts_of_one_prompt_are_the_same_calls(tmp_path):
    with Server() as server:
        ask(server, requests_for(["which?"], repeats=3), tmp_path / "store")
        ask(server, requests_for(["which?"], "choice", labels='["A"]', reader="letter", repeats=3), tmp_path / "store")
        assert server.calls["/chat/completions"] == 3


def test_refusals_and_unparseable_samples_are_counted_apart(tmp_path):
    answers = iter(["I would rather not", "Apples", "B", "A"])
    requests = requests_for(["FILTER", "which?"], "choice", labels='["A ", "B"]', reader="letter", repeats=4)
    with Server(reply=lambda body, prompt: next(answers)) as server:
        frame, _ = ask(server, requests, tmp_path / "store", concurrency=1)
    assert frame["status"].tolist() == ["ok", "ok"]
    assert frame["refused"].tolist() == [1, 0.25]
    assert frame["unparseable"].tolist() == [0, 0.5]
    assert frame["probabilities"].tolist() == ["[0.0, 0.0]", "[0.0, 0.25]"]


def test_a_choice_with_an_unanswered_sample_fails_and_is_whole_on_the_next_run(tmp_path):
    answers = iter([None, "A", "A", "B", "B"])

    class Once(Server):
        def answer(self, path, body):
            if text := next(answers):
                return 200, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
            return 400, {"error": {"message": "not today"}}

    requests = requests_for(["which?"], "choice", labels='["A", "B"]', reader="letter", repeats=4)
    with Once() as server:
        frame, metadata = ask(server, requests, tmp_path / "store", concurrency=1, max_failed_share=0.5)
        again, _ = ask(server, requests, tmp_path / "store")
        assert server.calls["/chat/completions"] == 5
    assert frame["status"].tolist() == ["failed"]
    assert "1 of 4 samples failed, as: 400 not today" in frame["detail"][0]
    assert json.loads(frame["probabilities"][0]) == [0.5, 0.25]
    assert frame["unresolved"].tolist() == [0.25]
    assert metadata["uncounted"] == 3  # this server says nothing of tokens
    assert again["probabilities"].tolist() == ["[0.5, 0.5]"]


@pytest.mark.parametrize("temperature", [1.0, 0.8, 0.3])
@pytest.mark.parametrize("returned", [10, 4])
def test_an_exact_choice_bounds_what_it_was_not_told(tmp_path, temperature, returned):
    """Against the whole distribution, which the server knows: with all of it equal, with a part never above it."""
    labels = list("0123456789")
    requests = requests_for(["n?"], "choice", labels=json.dumps(labels), reader="letter", temperature=temperature)
    with Server() as server:
        frame, _ = ask(server, requests, tmp_path / "store", top_logprobs=returned)
        assert server.bodies[0]["max_tokens"] == 1
    weights = [math.exp(token_logprob("", label) / temperature) for label in labels]
    truth = [weight / sum(weights) for weight in weights]
    found, unresolved = json.loads(frame["probabilities"][0]), frame["unresolved"][0]
    assert sum(found) + unresolved == pytest.approx(1)
    if returned == 10:
        assert found == pytest.approx(truth)
        assert frame["status"].tolist() == ["ok"]
    else:
        assert sum(value > 0 for value in found) == returned
        assert frame["status"].tolist() == ["failed"]
        for value, true in zip(found, truth, strict=True):
            assert value <= true + 1e-12
            assert true <= value + unresolved + 1e-12


def test_an_exact_choice_at_temperature_zero_is_the_likeliest(tmp_path):
    requests = requests_for(["n?"], "choice", labels='["7", "8"]', reader="letter", temperature=0.0)
    with Server() as server:
        frame, _ = ask(server, requests, tmp_path / "store", top_logprobs=5)
    best = max("0123456789", key=lambda digit: token_logprob("", digit))
    assert json.loads(frame["probabilities"][0]) == [float(best == "7"), float(best == "8")]


@pytest.mark.parametrize(
    ("token", "labels", "outcome"),
    [
        ("A", ["A", "B"], 0),  # could go on as "Apple", but no label does
        ("1", ["1", "10"], "unresolved"),
        ("10", ["1", "10"], 1),
        ("", ["A"], "unresolved"),
        ("I", ["A"], "refused"),
        ("Z", ["A"], "unparseable"),
    ],
)
def test_what_a_first_token_decides(token, labels, outcome):
    assert replies._first_token(token, labels, letter) == outcome


@pytest.mark.parametrize(
    ("kind", "columns", "settings", "reason"),
    [
        ("generation", {"prefix": "Answer: "}, {}, "no raw prefix"),
        ("generation", {"top_k": 50}, {}, "no top-k"),
        ("generation", {"repetition_penalty": 1.2}, {}, "no repetition penalty"),
        ("choice", {"top_p": 0.9}, {"top_logprobs": 5}, "no exact choice"),
        ("choice", {"temperature": 1.5}, {"top_logprobs": 5}, "no exact choice"),
        ("likelihood", {"continuation": "x"}, {}, "no log-probabilities of a prompt"),
        ("likelihood", {"continuation": "x"}, {"prompt_logprobs": True}, "no messages"),
    ],
)
def test_what_an_endpoint_cannot_answer_is_not_applicable(tmp_path, kind, columns, settings, reason):
    requests = requests_for(["one"], kind, labels='["A"]', reader="letter", **columns)
    with Server() as server:
        frame, _ = ask(server, requests, tmp_path / "store", **settings)
        assert not server.calls  # found out without a call
    assert frame["status"].tolist() == ["not_applicable"]
    assert reason in frame["detail"][0]


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        ("openai", {"max_completion_tokens": 16}),
        ("compatible", {"max_tokens": 16}),
        ("vllm", {"max_tokens": 16, "top_k": -1, "repetition_penalty": 1.0}),
        ("llama.cpp", {"max_tokens": 16, "top_k": 0, "repeat_penalty": 1.0}),
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


def test_likelihood_is_the_sum_over_the_continuation(tmp_path):
    columns = {"messages": None, "prefix": "ab", "continuation": "c12", "boundary": "offsets", "special_tokens": "once"}
    with Server() as server:
        frame, _ = ask(server, requests_for(["x"], "likelihood", **columns), tmp_path / "store", prompt_logprobs=True)
    total = sum(token_logprob(before, token) for before, token in ["bc", "c1", "12"])
    assert frame["log_likelihood"][0] == pytest.approx(total)
    assert frame["tokens"][0] == 3
    assert frame["nll_per_token"][0] == pytest.approx(-total / 3)


def test_the_first_token_of_a_text_has_no_probability(tmp_path):
    columns = {"messages": None, "prefix": None, "continuation": "c1", "boundary": "offsets", "special_tokens": "once"}
    with Server() as server:
        frame, _ = ask(server, requests_for(["x"], "likelihood", **columns), tmp_path / "store", prompt_logprobs=True)
    assert frame["status"].tolist() == ["not_applicable"]


def test_log_probabilities_that_are_not_the_models_are_not_trusted(tmp_path):
    columns = {"messages": None, "prefix": "ab", "continuation": "c", "boundary": "offsets", "special_tokens": "once"}
    with Server(lying=True) as server, pytest.raises(UserError, match="cannot be trusted"):
        ask(server, requests_for(["x"], "likelihood", **columns), tmp_path / "store", prompt_logprobs=True)


@pytest.mark.parametrize(
    ("tokens", "prefix", "continuation", "scored"),
    [
        (["a", "b", "c"], "ab", "c", 1),
        (["a", "bc", "d"], "ab", "cd", 2),  # a token over the boundary belongs to the continuation
        (["<s>", "ab", "c"], "ab", "c", 1),
        (["", "ab", "c"], "ab", "c", 1),
        (["a", "\ufffd", "\ufffd", "b", "c"], "a气b", "c", 1),  # cut into bytes before the boundary
        (["a", "b", "\ufffd", "\ufffd"], "a", "b气", 3),  # and after it
        (["a", "\ufffd", "b", "\ufffd"], "a气", "b气", None),  # on both sides: nowhere to count from
    ],
)
def test_a_boundary_is_found_in_the_endpoints_tokens(tokens, prefix, continuation, scored):
    logprobs = [None, *range(-1, -len(tokens), -1)]
    record = {"tokens": [*tokens, "x"], "logprobs": [*logprobs, -9.0], "prompt_tokens": len(tokens)}
    if scored is None:
        with pytest.raises(replies.BadReply, match="boundary"):
            replies.continuation_logprobs(record, prefix, continuation)
    else:
        assert replies.continuation_logprobs(record, prefix, continuation) == logprobs[-scored:]


PRICES = {"price_input_per_million": 1e6, "price_output_per_million": 1e6}  # one a token


def test_the_plan_is_logged_before_the_first_call(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with Server() as server:
        ask(server, requests_for(["one", "two"]), tmp_path / "store", **PRICES)
    plan = caplog.messages[0]
    assert "2 calls, 0 of them in the store" in plan
    assert "about 34 prompt tokens, at most 32 completion tokens, 66.0000 USD" in plan


def test_a_budget_is_never_exceeded_and_what_was_paid_for_is_kept(tmp_path):
    prompts = [f"{index:04}" for index in range(50)]
    with Server(delay_s=0.01) as server:
        with pytest.raises(UserError, match=r"budget of 300.0 USD is used up"):
            ask(server, requests_for(prompts), tmp_path / "store", budget=300.0, **PRICES)
        first = len(server.answered)
        spent = sum(len(prompt) + len(said(prompt)) for prompt in server.answered)
        assert 0 < first < 50
        assert 300 - 34 < spent <= 300  # 34 is the most that a call may come to by the estimate
        with pytest.raises(UserError, match="used up"):  # the budget is the model's, not the run's
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
        ({}, r"does not accept a call without a key \(`key_env` is empty\)"),
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
        ApiEntry(**{"base_url": "http://host/v1", "model": "m"} | bad)


def test_every_key_of_an_entry_is_described():
    assert all(field.description.endswith(".") for field in ApiEntry.model_fields.values())
