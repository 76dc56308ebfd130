"""Choices and likelihoods through an endpoint: sampled, exact from top log-probabilities, and from an echo."""

import json
import math
from functools import partial

import pytest
from api_server import MODEL, Server, requests_for, token_logprob

from biasatlas.benchmarks.shared.parsing.named import Parser
from biasatlas.benchmarks.shared.parsing.options import Options
from biasatlas.errors import UserError
from biasatlas.models.endpoint import answer, replies
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.capability_check import RANDOM
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore


@pytest.fixture(autouse=True)
def own_limits(monkeypatch, tmp_path):
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def letter(text, options, complete):
    """The label that the reply begins with; "I" begins a refusal."""
    labels = options.labels
    if not text:
        return "unparseable" if complete else None
    for index in sorted(range(len(labels)), key=lambda index: -len(labels[index])):
        if text.startswith(labels[index]):
            grows = any(label != text and label.startswith(text) for label in labels)
            return None if not complete and (text == labels[index] or grows) else index
    return "refused" if text.startswith("I") else "unparseable"


LETTER = Parser(partial(letter, complete=True), partial(letter, complete=False))


def ask(server, requests, folder, **settings):
    entry = ApiEntry(**{"kind": "api", "base_url": server.url, "model": MODEL, "timeout_s": 1} | settings)
    return Endpoint(entry, parsers={"letter": LETTER}).answer(requests, "task", ResponseStore(folder))


def test_a_choice_is_the_shares_of_its_samples(tmp_path):
    answers = iter("AABXA")
    requests = requests_for(["which?"], "choice", labels='["A", "B"]', parser="letter", repeats=5)
    with Server(reply=lambda body, prompt: next(answers)) as server:
        frame, _ = ask(server, requests, tmp_path / "store", concurrency=1)
    assert json.loads(frame["probabilities"][0]) == [0.6, 0.2]
    assert frame.loc[0, ["refused", "unparseable", "unresolved"]].tolist() == [0, 0.2, 0]
    assert frame["status"].tolist() == ["ok"]


def test_samples_and_texts_of_one_prompt_are_the_same_calls(tmp_path):
    with Server() as server:
        ask(server, requests_for(["which?"], repeats=3), tmp_path / "store")
        ask(server, requests_for(["which?"], "choice", labels='["A"]', parser="letter", repeats=3), tmp_path / "store")
        assert server.calls["/chat/completions"] == 3


def test_refusals_and_unparseable_samples_are_counted_apart(tmp_path):
    answers = iter(["I would rather not", "Apples", "B", "A"])
    requests = requests_for(["FILTER", "which?"], "choice", labels='["A ", "B"]', parser="letter", repeats=4)
    with Server(reply=lambda body, prompt: next(answers)) as server:
        frame, _ = ask(server, requests, tmp_path / "store", concurrency=1)
    assert frame["status"].tolist() == ["filtered", "ok"]
    assert frame["detail"].fillna("").tolist() == ["the service's filter stopped 4 of 4 samples", ""]
    assert frame["refused"].tolist() == [1, 0.25]
    assert frame["unparseable"].tolist() == [0, 0.5]
    assert frame["probabilities"].tolist() == ["[0.0, 0.0]", "[0.0, 0.25]"]


def test_a_choice_with_an_unanswered_sample_fails_and_is_whole_on_the_next_run(tmp_path):
    answers = iter([None, "A", "A", "B", "B"])

    class Once(Server):
        def answer(self, path, body):
            if body["messages"][0]["content"] == RANDOM:
                return super().answer(path, body)
            if text := next(answers):
                return 200, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
            return 400, {"error": {"message": "not today"}}

    requests = requests_for(["which?"], "choice", labels='["A", "B"]', parser="letter", repeats=4)
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
    requests = requests_for(["n?"], "choice", labels=json.dumps(labels), parser="letter", temperature=temperature)
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
    requests = requests_for(["n?"], "choice", labels='["7", "8"]', parser="letter", temperature=0.0)
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
    assert answer._first_token(token, Options.of(labels), LETTER) == outcome


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
    requests = requests_for(["one"], kind, labels='["A"]', parser="letter", **columns)
    with Server() as server:
        frame, _ = ask(server, requests, tmp_path / "store", **settings)
        assert not server.calls  # found out without a call
    assert frame["status"].tolist() == ["not_applicable"]
    assert reason in frame["detail"][0]


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
        with pytest.raises(answer.BadReply, match="boundary"):
            replies.continuation_logprobs(record, prefix, continuation)
    else:
        assert replies.continuation_logprobs(record, prefix, continuation) == logprobs[-scored:]
