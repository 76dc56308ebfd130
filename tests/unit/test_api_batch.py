"""Batches: the same answers, rows that come out of order or not at all, and a kill at any moment."""

import json
import logging

import pytest
from api_server import MODEL, Server, error, requests_for, said

from biasatlas.errors import UserError
from biasatlas.models.endpoint import calls, send, transport
from biasatlas.models.endpoint.answer import Endpoint
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.store import ResponseStore


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr(send, "POLL_S", 0.01)
    monkeypatch.setattr(transport, "BACKOFF_S", 0.01)
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)  # slow, and nothing here is encrypted
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def ask(server, requests, folder, **settings):
    entry = ApiEntry(**{"kind": "api", "base_url": server.url, "model": MODEL, "batch": True} | settings)
    return Endpoint(entry).answer(requests, "task", ResponseStore(folder))


def test_batches_give_what_calls_give(tmp_path):
    requests = requests_for([f"prompt {index}" for index in range(200)])
    with Server(bad_rows=0.1, seed=1) as server:
        frame, metadata = ask(server, requests, tmp_path / "batch")
        assert server.calls["/chat/completions"] == 0
        assert set(server.met) == {"missing", "500", "garbled", "empty_choices"}
        assert len(server.batches) > 1
        assert {len(times) for times in server.answered.values()} == {1}
        assert not list((tmp_path / "batch/batches").iterdir())
        direct = ask(server, requests, tmp_path / "direct", batch=False)
    assert frame.equals(direct[0])
    assert metadata == direct[1]


def test_a_batch_api_may_misbehave_too(tmp_path):
    """Each of its kinds of request in turn meets a fault, and the batch is made once."""
    faults = ["429", "html", None, "reset", "garbled", None, None, "500", None, "truncated", "503", None, None]
    with Server(batch_faults=faults) as server:
        frame, _ = ask(server, requests_for(["one", "two"]), tmp_path / "store")
        assert len(server.batches) == 1
        assert server.met.total() == len(faults) - faults.count(None)
    assert list(frame["text"]) == [said("one"), said("two")]


def test_batches_are_cut_to_size(tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "MAX_ROWS", 3)
    prompts = [f"{index}" for index in range(7)]
    with Server() as server:
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store")
        assert [made["request_counts"]["total"] for made in server.batches.values()] == [3, 3, 1]
    assert list(frame["text"]) == [said(prompt) for prompt in prompts]


def test_progress_is_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with Server(polls=3) as server:
        ask(server, requests_for(["one", "two"]), tmp_path / "store")
    assert "batch batch_0: in_progress, 0 of 2 done, 0 failed" in caplog.messages
    assert "batch batch_0: completed, 2 of 2 done, 0 failed" in caplog.messages


class Killed(BaseException):
    """What a kill is to the process it hits: nothing of ours handles it."""


STEPS = {
    (transport, "persist"): 4,
    (send, "write_text"): 2,
    (transport, "write_text"): 1,
    (send, "_wait_for_batch"): 1,
    (transport, "outcome_of_row"): 4,
}


@pytest.mark.parametrize(
    ("module", "name", "nth"), [(*step, nth) for step, times in STEPS.items() for nth in range(times)]
)
@pytest.mark.parametrize("after", [False, True])
def test_a_kill_anywhere_pays_for_nothing_twice(tmp_path, monkeypatch, module, name, nth, after):
    """The job dies before or after the n-th time it takes a step; the next run finds the batch again."""
    prompts = [f"{index}" for index in range(5)]
    real, count = getattr(module, name), iter(range(100))

    def deadly(*arguments):
        dies = next(count) == nth
        if dies and not after:
            raise Killed
        result = real(*arguments)
        if dies:
            raise Killed
        return result

    with Server() as server:
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(module, name, deadly)
            ask(server, requests_for(prompts), tmp_path / "store")
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store")
        assert {len(times) for times in server.answered.values()} == {1}
        assert len(server.batches) == 1
    assert list(frame["text"]) == [said(prompt) for prompt in prompts]


@pytest.mark.parametrize("pages", [True, False])
def test_a_batch_is_found_behind_many_newer_ones(tmp_path, monkeypatch, pages):
    """Also where a service has one page alone, which it gives again whatever comes after which."""

    class Service(Server):
        def _batch(self, writer, method, path, headers, body):
            if path == "/batches" and method == "GET" and not pages:
                return self._json(writer, 200, {"data": list(self.batches.values()), "has_more": True})
            return super()._batch(writer, method, path, headers, body)

    with Service() as server:
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(send, "_wait_for_batch", lambda *_: (_ for _ in ()).throw(Killed))
            ask(server, requests_for(["one"]), tmp_path / "store")
        (path,) = (tmp_path / "store/batches").iterdir()
        path.write_text(path.read_text().replace('"batch_0"', "null"))  # the job was killed before it could note it
        made = server.batches["batch_0"]
        others = {f"other_{n}": made | {"id": f"other_{n}", "input_file_id": f"other-{n}"} for n in range(250)}
        server.batches |= others if pages else {}
        server.batches = server.batches if pages else others
        frame, _ = ask(server, requests_for(["one"]), tmp_path / "store")
        assert len(server.batches) == 251
    assert list(frame["text"]) == [said("one")]


def test_a_row_that_comes_twice_counts_once(tmp_path):
    """Whatever the second is: it is neither counted as an answer again nor as a call that failed."""

    class Doubling(Server):
        def _end(self, made):
            super()._end(made)
            output, errors = made["output_file_id"], made["error_file_id"]
            rows = [json.loads(line) for line in self.files[output].splitlines()]
            refused = {"status_code": 400, "body": error("no", "invalid_value")}
            self.files[output] = b"\n".join([self.files[output]] * 2)
            self.files[errors] = "\n".join(json.dumps(row | {"response": refused}) for row in rows).encode()

    prices = {"price_input_per_million": 1e6, "price_output_per_million": 1e6}
    prompts = [f"{index}" for index in range(5)]
    with Server() as server:
        once, once_took = ask(server, requests_for(prompts), tmp_path / "once", **prices)
    with Doubling() as server:
        frame, took = ask(server, requests_for(prompts), tmp_path / "twice", **prices)
    assert frame.equals(once) and took == once_took
    assert (tmp_path / "twice/spent").read_bytes() == (tmp_path / "once/spent").read_bytes()


def test_another_job_collects_what_a_killed_one_sent(tmp_path, monkeypatch):
    """Also the rows that it did not ask for itself: they were paid for."""
    with Server() as server:
        with monkeypatch.context() as patched:
            patched.setattr(send, "_wait_for_batch", lambda *_: (_ for _ in ()).throw(Killed))
            with pytest.raises(Killed):
                ask(server, requests_for(["one", "two"]), tmp_path / "store")
        _, metadata = ask(server, requests_for(["two", "three"]), tmp_path / "store")
        assert metadata["prompt_tokens"] == len("two") + len("three")  # what this job's own answers took
        ask(server, requests_for(["one", "two", "three"]), tmp_path / "store")
        assert len(server.batches) == 2
        assert {len(times) for times in server.answered.values()} == {1}


def test_a_row_that_is_rejected_fails_at_once_with_its_reason(tmp_path):
    with Server() as server:
        frame, _ = ask(server, requests_for(["fine", "INVALID"]), tmp_path / "store", max_failed_share=0.5)
        assert len(server.batches) == 1
    assert list(frame["status"]) == ["ok", "failed"]
    assert "Unsupported value" in frame["detail"][1]


def test_a_row_that_no_round_answers_fails_with_its_last_reason(tmp_path):
    with Server(bad_rows=1.0) as server:
        frame, _ = ask(server, requests_for(list("abcdefgh")), tmp_path / "store", max_failed_share=1, attempts=3)
        assert len(server.batches) == 3
    assert set(frame["status"]) == {"failed"}
    assert frame["detail"].str.contains("overloaded|no answer: no choice|no batch answered it").all()


def test_a_batch_that_is_gone_names_the_file_to_delete(tmp_path, monkeypatch):
    with Server() as server:
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(send, "_wait_for_batch", lambda *_: (_ for _ in ()).throw(Killed))
            ask(server, requests_for(["one"]), tmp_path / "store")
        server.batches.clear()
        with pytest.raises(UserError, match=r"batch_0 is gone for good, delete .*/batches/file-0\.json"):
            ask(server, requests_for(["one"]), tmp_path / "store")


def test_a_filtered_row_has_a_status_of_its_own(tmp_path):
    with Server() as server:
        frame, _ = ask(server, requests_for(["FILTER"]), tmp_path / "store")
    assert list(frame["status"]) == ["filtered"]


@pytest.mark.parametrize("said", ["FILTER", "REFUSE", "PONDER"])
def test_a_service_that_declines_everything_is_sent_one_small_batch(tmp_path, said):
    prompts = [f"{said} {index}" for index in range(200)]
    with Server() as server:
        for _ in range(2):  # a second run pays for nothing
            told = "first 20 replies say nothing" if said == "PONDER" else "declines all of the first 50 questions"
            with pytest.raises(UserError, match=told):
                ask(server, requests_for(prompts), tmp_path / "store")
            assert [made["request_counts"]["total"] for made in server.batches.values()] == [50]
        frame, _ = ask(server, requests_for(prompts), tmp_path / "store", max_failed_share=1)
        assert [made["request_counts"]["total"] for made in server.batches.values()] == [50, 150]
    assert len(frame) == 200 and frame["status"].nunique() == 1


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_small_batch_before_all_others_takes_no_attempt(tmp_path, attempts):
    prompts = ["one", *(f"FILTER {index}" for index in range(60))]
    with Server() as server:
        frame, _ = ask(server, requests_for(prompts, repeats=2), tmp_path / "store", attempts=attempts)
        assert [made["request_counts"]["total"] for made in server.batches.values()] == [50, 72]
    assert frame["status"].value_counts().to_dict() == {"filtered": 120, "ok": 2}


def test_a_batch_stays_within_the_budget(tmp_path):
    prompts = [f"{index:04}" for index in range(20)]
    prices = {"price_input_per_million": 1e6, "price_output_per_million": 1e6}
    with Server() as server:
        with pytest.raises(UserError, match=r"budget of 150\.0 USD is used up"):
            ask(server, requests_for(prompts), tmp_path / "store", budget=150.0, **prices)
        assert 150 - 34 < 15 * len(server.answered) <= 150
        ask(server, requests_for(prompts), tmp_path / "store", budget=1000.0, **prices)
        assert {len(times) for times in server.answered.values()} == {1}
        assert len(server.answered) == 20


def test_a_batch_that_the_endpoint_rejects_is_an_error(tmp_path):
    class Rejecting(Server):
        def _end(self, made):
            made |= {"status": "failed", "errors": {"object": "list", "data": [{"message": "line 1 is bad"}]}}

    with Rejecting() as server, pytest.raises(UserError, match="batch batch_0 failed: line 1 is bad"):
        ask(server, requests_for(["one"]), tmp_path / "store")
