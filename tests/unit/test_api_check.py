"""What the check of an endpoint finds, and what it refuses before anything is measured."""

import json
import logging
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from api_server import MODEL, Server, requests_for, said

from biasatlas.errors import UserError
from biasatlas.models.endpoint import Found, capability_check, read_found, transport
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.calls import Unsupported, call_of
from biasatlas.models.endpoint.capability_check import check
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(transport, "BACKOFF_S", 0.01)
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def entry(server, **settings):
    return ApiEntry(**{"kind": "api", "base_url": server.url, "model": MODEL, "timeout_s": 2} | settings)


@pytest.mark.parametrize(
    ("serves", "settings", "found"),
    [
        ({}, {}, Found(n=1)),
        ({"answers": 128}, {}, Found(n=128)),
        ({"answers": 5}, {}, Found(n=5)),
        ({"answers": 128}, {"n": 20}, Found(n=20)),
        ({"answers": 128, "greedy": "copies"}, {}, Found(n=1)),
        ({"greedy": "always"}, {}, Found(samples=False)),
        ({"greedy": "seed"}, {}, Found(samples=True, seed=True)),
    ],
)
def test_what_is_found(serves, settings, found):
    with Server(**serves) as server:
        assert check(entry(server, **settings)) == replace(found, served_model=MODEL)
        assert server.calls["/chat/completions"] == 0


class Odd(Server):
    """Answers the check with an error of its own."""

    status, message = 400, "Invalid API key or unknown model"

    def answer(self, path, body):
        return self.status, {"error": {"message": self.message}}


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_an_error_to_the_checks_own_requests_is_one_of_the_check(status):
    with Odd() as server, pytest.raises(UserError, match="Invalid API key or unknown model"):
        server.status = status
        check(entry(server))


def test_an_endpoint_need_not_list_its_models_and_names_itself_as_it_likes(monkeypatch, caplog):
    """It listed none to the key, and answered under the key for a name."""

    class Repeating(Server):
        async def _route(self, writer, reader, method, path, headers, body):
            if path.endswith("/models"):
                return self._send(writer, 403, b"not for you")
            return await super()._route(writer, reader, method, path, headers, body)

        def answer(self, path, body):
            status, reply = super().answer(path, body)
            return status, reply | {"model": "sk-canary-1234567890"}

    monkeypatch.setenv("ATLAS_CANARY_KEY", "sk-canary-1234567890")
    with Repeating() as server:
        assert check(entry(server, key_env="ATLAS_CANARY_KEY")) == Found(served_model="***")
    assert "sk-canary" not in caplog.text


def test_a_reply_without_end_does_not_hold_up_the_check():
    class Dripping(Server):
        async def _route(self, writer, reader, method, path, headers, body):
            return await self._break_off(writer, reader, "drip", b"x" * 100)

    with Dripping() as server, pytest.raises(UserError, match="byte by byte"):
        check(entry(server, timeout_s=0.3))


def test_too_few_top_log_probabilities_are_refused(monkeypatch):
    class Without(Server):
        def answer(self, path, body):
            return super().answer(path, {name: value for name, value in body.items() if name != "logprobs"})

    with Without() as server, pytest.raises(UserError, match=r"gives no 5 top log-probabilities.*top_logprobs"):
        check(entry(server, top_logprobs=5))


@pytest.mark.parametrize(("repeats", "temperature", "refused"), [(3, 0.7, True), (1, 0.7, False), (3, 0.0, False)])
def test_repeats_of_one_text_are_refused(tmp_path, repeats, temperature, refused):
    requests = requests_for(["one"], repeats=repeats, temperature=temperature)
    with Server() as server:
        endpoint = Endpoint(entry(server), found=Found(samples=False))
        if refused:
            with pytest.raises(UserError, match="gives equal calls at temperature 1 one text"):
                endpoint.answer(requests, "task", ResponseStore(tmp_path / "store"))
            assert not server.answered
        else:
            assert set(endpoint.answer(requests, "task", ResponseStore(tmp_path / "store"))[0]["status"]) == {"ok"}


def test_repeats_are_asked_for_in_one_call(tmp_path):
    requests = requests_for(["one", "two"], repeats=100)
    with Server(answers=128) as server:
        frame, metadata = Endpoint(entry(server)).answer(requests, "task", ResponseStore(tmp_path / "store"))
        assert server.calls["/chat/completions"] == 2
        assert [body["n"] for body in server.bodies] == [100, 100]
        again = Endpoint(entry(server)).answer(requests, "task", ResponseStore(tmp_path / "store"))
        assert server.calls["/chat/completions"] == 2
    assert list(frame["text"]) == [said("one")] * 100 + [said("two")] * 100
    assert (metadata["calls"], metadata["answers"], metadata["prompt_tokens"]) == (2, 200, 6)
    assert metadata["completion_tokens"] == 200 * len(said("one"))
    assert (metadata["sampled"], metadata["one_text"]) == (2, 2)
    assert "of 2 requests sampled, 2 got one text each time" in metadata["warnings"]
    assert again[1] == metadata


@pytest.mark.parametrize("answers", [1, 3])
def test_fewer_answers_than_were_found_are_made_up_for(tmp_path, answers):
    requests = requests_for(["one"], repeats=10)
    with Server(answers=answers) as server:
        endpoint = Endpoint(entry(server), found=Found(n=128))
        frame, _ = endpoint.answer(requests, "task", ResponseStore(tmp_path / "store"))
        assert server.calls["/chat/completions"] == -(-10 // answers)
    assert set(frame["status"]) == {"ok"}


def test_what_a_store_lacks_of_a_prompts_repeats_is_asked_for_alone(tmp_path):
    with Server(answers=128) as server:
        for repeats, calls in ((10, 1), (30, 2), (20, 2)):
            Endpoint(entry(server)).answer(requests_for(["one"], repeats=repeats), "t", ResponseStore(tmp_path / "s"))
            assert server.calls["/chat/completions"] == calls
        assert [body.get("n") for body in server.bodies] == [10, 20]


def test_a_seed_of_its_own_goes_with_each_repeat(tmp_path):
    with Server() as server:
        endpoint = Endpoint(entry(server), found=Found(seed=True))
        endpoint.answer(requests_for(["one"], repeats=4), "task", ResponseStore(tmp_path / "store"))
        assert len({body["seed"] for body in server.bodies}) == 4


def test_a_check_that_was_written_is_read(tmp_path):
    path = tmp_path / "m.checked"
    assert read_found([tmp_path / "other"]) is None
    path.write_text("")
    assert read_found([path]) is None
    path.write_text(json.dumps({"n": 8}))
    assert read_found([path]) == Found(n=8)
    path.write_text("{}[")
    with pytest.raises(UserError, match="not a valid endpoint-check file"):
        read_found([path])


@pytest.mark.parametrize("rates", [{}, {"requests_per_minute": 170}])
def test_a_check_keeps_to_the_pace_of_an_endpoint_that_asks_for_fewer_calls(monkeypatch, tmp_path, rates):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Server(per_second=3) as server:
        assert check(entry(server, n=1, **rates)).samples
        assert server.statuses[200] >= 5


@pytest.mark.parametrize(
    ("dialect", "asked", "sent", "reason"),
    [
        ("reasoning", {"temperature": 1.0}, {"max_completion_tokens"}, ""),
        ("reasoning", {"temperature": 0.5}, None, "no temperature but 1"),
        ("reasoning", {"temperature": 1.0, "top_p": 0.9}, None, "no top_p but 1"),
        ("anthropic", {"temperature": 0.7}, {"max_tokens", "temperature"}, ""),
        ("anthropic", {"temperature": 1.2}, None, "no temperature above 1"),
        ("gemini", {}, {"max_tokens", "temperature", "top_p"}, ""),
        ("gemini", {"frequency_penalty": 0.5}, None, "no frequency_penalty but 0"),
        ("glm", {"temperature": 0.0}, {"max_tokens", "top_p", "do_sample"}, ""),
    ],
)
def test_a_dialect_is_sent_what_it_takes_and_no_more(dialect, asked, sent, reason):
    row = requests_for(["one"], **{"frequency_penalty": None} | asked).to_dict("records")[0]
    endpoint = ApiEntry(kind="api", base_url="http://host/v1", model="m", dialect=dialect)
    if reason:
        with pytest.raises(Unsupported, match=reason):
            call_of(row, endpoint)
    else:
        assert set(call_of(row, endpoint).body) == {"model", "messages"} | sent


def test_a_setting_that_a_service_lacks_is_left_out_where_its_entry_says_so():
    """McBE's Table 8 has a repetition penalty for GLM4, which its service has not."""
    row = requests_for(["one"], temperature=0.9, top_p=0.7, repetition_penalty=1.05).to_dict("records")[0]
    glm = {"kind": "api", "base_url": "http://host/v1", "model": "m", "dialect": "glm"}
    with pytest.raises(Unsupported, match="no repetition penalty"):
        call_of(row, ApiEntry(**glm))
    without = ApiEntry(**glm, without=["repetition_penalty"])
    body = call_of(row, without).body
    assert (body["temperature"], body["top_p"]) == (0.9, 0.7) and "repetition_penalty" not in body
    assert (without.deviation, ApiEntry(**glm).deviation) == ("asked without repetition_penalty", "")
    thinker = ApiEntry(**glm | {"dialect": "reasoning"}, without=["temperature", "top_p", "repetition_penalty"])
    assert set(call_of(row, thinker).body) == {"model", "messages", "max_completion_tokens"}


class _Page(BaseHTTPRequestHandler):
    """What stands at a wrong address, or refuses us: one status and body for everything."""

    status, body = 200, b""

    def do_GET(self):
        self.rfile.read(int(self.headers["content-length"] or 0))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("path", "status", "body", "said"),
    [
        ("/v1", 401, b'{"error": {"message": "Bad key"}}', r"does not accept the key in HKEY: Bad key\. Put one there"),
        ("/v1", 403, b"<html><h1>403 Forbidden</h1></html>", r"does not accept the key in HKEY: 403 Forbidden\. Put"),
        ("", 404, b"404 page not found", r"404 page not found\. Most .*try `base_url: http://.*:\d+/v1`\.$"),
        ("/v1", 404, b'{"detail": "Not Found"}', r"wrong `base_url`: .*Not Found.* Compare `base_url` with"),
        ("", 200, b"<!doctype html><p>Hi", r"\(no answer: a web page, not JSON\)\. .*try `base_url: http://.*/v1`\.$"),
        ("/v1", 200, b"hello", r"is no reply to a chat \(.*\)\. Compare `base_url` with"),
        ("/v1", 429, b'{"error": {"message": "Too fast"}}', r"asks for fewer calls .*429 Too fast.*`requests_per_min"),
        (
            "/v1",
            500,
            b'{"error": {"message": "Oh no"}}',
            r"m at .* has a fault of its own \(500 Oh no\): run again later",
        ),
        ("s", 200, b"", r"cannot be reached \(.*\): it speaks no TLS; try http://127\.0\.0\.1:\d+/v1$"),
    ],
)
def test_what_a_new_user_meets_is_one_sentence_with_a_remedy(monkeypatch, caplog, path, status, body, said):
    monkeypatch.setenv("HKEY", "sk-0123456789abcdef")
    monkeypatch.setattr(capability_check, "_PATIENCE_S", 1)
    caplog.set_level(logging.INFO, "biasatlas.progress")
    handler = type("Handler", (_Page,), {"status": status, "body": body})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http{path if path == 's' else ''}://127.0.0.1:{server.server_port}{'/v1' if path == 's' else path}"
        with pytest.raises(UserError, match=said) as told:
            check(ApiEntry(kind="api", base_url=url, model="m", key_env="HKEY"))
        server.shutdown()
    assert "\n" not in str(told.value)
    # Where it waits, the terminal says so at once.
    waits = [record.getMessage() for record in caplog.records if "asks for fewer calls" in record.getMessage()]
    assert len(waits) == (status == 429)


def test_an_endpoint_that_says_nothing_is_told_from_one_that_is_not_there():
    with Server() as server:
        server.answer = lambda *_: time.sleep(1)  # of the check's own question
        with pytest.raises(UserError, match=r"loopback at .* gave no answer within 0\.2 s, 3 times: .*`timeout_s`\.$"):
            check(ApiEntry(kind="api", base_url=server.url, model=MODEL, timeout_s=0.2))


def test_a_slash_at_the_end_is_the_same_endpoint():
    with Server() as server:
        assert entry(server, base_url=server.url + "/") == entry(server)
